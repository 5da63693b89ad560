package io.vertigrad.benchmarks.gpu;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Device;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;

/**
 * {@code GradientDistance MODEL DEVICE}: compares the gradients of a device with the processor's in
 * three steps of SGD, and two gradients of the device with each other. Prints JSON.
 */
final class GradientDistance {

  private static final int STEPS = 3;
  private static final float RATE = 0.05f;

  private GradientDistance() {}

  public static void main(String[] arguments) {
    CheckedModel checked = CheckedModel.parse(arguments[0]);
    Device device = Device.of(arguments[1]).orElseThrow();
    CheckProgram.run(() -> measure(checked, device));
  }

  static JsonObject measure(CheckedModel checked, Device device) {
    Engine engine = Engine.named(Sitting.ENGINE);
    engine.prepare(1);
    Batch batch = checked.samples();
    double farthest = 0;
    double repeated = 0;
    try (Model here = engine.model(checked.config(Device.PROCESSOR));
        Model there = engine.model(checked.config(device))) {
      float[] parameters = new float[here.layout().length()];
      here.readParameters(0, FloatBuffer.wrap(parameters));
      for (int step = 0; step < STEPS; step++) {
        here.writeParameters(0, FloatBuffer.wrap(parameters));
        there.writeParameters(0, FloatBuffer.wrap(parameters));
        float[] expected = gradient(here, batch);
        float[] found = gradient(there, batch);
        farthest = Math.max(farthest, distance(expected, found));
        repeated = Math.max(repeated, distance(found, gradient(there, batch)));
        for (int i = 0; i < parameters.length; i++) {
          parameters[i] -= RATE * expected[i];
        }
      }
    }
    return new JsonObject().put("distance", farthest).put("repeated", repeated);
  }

  /** Returns {@code |found - expected| / |expected|} in the L2 norm; NaN counts as infinite. */
  static double distance(float[] expected, float[] found) {
    double difference = 0;
    double length = 0;
    for (int i = 0; i < expected.length; i++) {
      difference += Math.pow(found[i] - (double) expected[i], 2);
      length += Math.pow(expected[i], 2);
    }
    double distance = Math.sqrt(difference / length);
    return Double.isNaN(distance) ? Double.MAX_VALUE : distance;
  }

  private static float[] gradient(Model model, Batch batch) {
    model.gradient(batch);
    float[] gradient = new float[model.layout().length()];
    model.readGradient(0, FloatBuffer.wrap(gradient));
    return gradient;
  }
}
