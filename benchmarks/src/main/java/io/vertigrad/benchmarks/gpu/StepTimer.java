package io.vertigrad.benchmarks.gpu;

import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Device;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.optimizer.DeviceUpdateRule;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * {@code StepTimer MODEL DEVICE MODE SECONDS [STEPS]}: times one step. In the mode {@code server}
 * it is that of a worker of {@code sync}: it writes the parameters, computes a gradient and reads
 * it, and SGD takes a step in Java as a server would. In the mode {@code resident} SGD takes the
 * step where the model computes, as between two exchanges of {@code diloco}; a model without such a
 * rule does as with a server. With STEPS it takes so many steps instead, to count calls. Prints
 * JSON.
 */
final class StepTimer {

  private static final int WARM_UP = 20;
  private static final float RATE = 0.001f;
  private static final float BOUND = 1e9f;
  private static final double MILLIS = 1e6;

  private final Model model;
  private final Optional<DeviceUpdateRule> rule;
  private final Batch batch;
  private final float[] parameters;
  private final float[] gradient;
  private final List<Double> times = new ArrayList<>();
  private double writing;
  private double computing;
  private double reading;
  private double stepping;

  private StepTimer(Model model, boolean resident, Batch batch) {
    this.model = model;
    this.rule = resident ? model.deviceRule(OptimizerConfig.sgd(RATE)) : Optional.empty();
    this.batch = batch;
    this.parameters = new float[model.layout().length()];
    this.gradient = new float[model.layout().length()];
    model.readParameters(0, FloatBuffer.wrap(parameters));
  }

  public static void main(String[] arguments) {
    CheckedModel checked = CheckedModel.parse(arguments[0]);
    Device device = Device.of(arguments[1]).orElseThrow();
    boolean resident = arguments[2].equals("resident");
    double seconds = Double.parseDouble(arguments[3]);
    int steps = arguments.length > 4 ? Integer.parseInt(arguments[4]) : 0;
    CheckProgram.run(() -> measure(checked, device, resident, seconds, steps));
  }

  /**
   * Measures.
   *
   * @param resident whether the parameters stay on the device
   * @param seconds the least time to measure for
   * @param steps number of steps to take instead; 0 for none
   */
  static JsonObject measure(
      CheckedModel checked, Device device, boolean resident, double seconds, int steps) {
    Engine engine = Engine.named(Sitting.ENGINE);
    engine.prepare(1);
    try (Model model = engine.model(checked.config(device))) {
      StepTimer timer = new StepTimer(model, resident, checked.samples());
      if (steps > 0) {
        for (int i = 0; i < steps; i++) {
          timer.step();
        }
      } else {
        timer.repeat(seconds);
      }
      return timer.toJson(checked.batch());
    }
  }

  private void repeat(double seconds) {
    long start = System.nanoTime();
    // Compilers need a share of the time, too.
    while (times.size() < WARM_UP || System.nanoTime() - start < seconds / 2 * 1e9) {
      step();
    }
    times.clear();
    writing = computing = reading = stepping = 0;
    start = System.nanoTime();
    while (times.isEmpty() || System.nanoTime() - start < seconds * 1e9) {
      step();
    }
  }

  private void step() {
    if (rule.isPresent()) {
      stepOnDevice(rule.get());
    } else {
      stepInJava();
    }
  }

  /** The gradient's loss is read, so no step overlaps with the next one. */
  private void stepOnDevice(DeviceUpdateRule onDevice) {
    long start = System.nanoTime();
    model.gradient(batch);
    long computed = System.nanoTime();
    onDevice.step(RATE, times.size(), BOUND);
    long stepped = System.nanoTime();
    computing += (computed - start) / MILLIS;
    stepping += (stepped - computed) / MILLIS;
    times.add((stepped - start) / MILLIS);
  }

  private void stepInJava() {
    long start = System.nanoTime();
    model.writeParameters(0, FloatBuffer.wrap(parameters));
    long written = System.nanoTime();
    model.gradient(batch);
    long computed = System.nanoTime();
    model.readGradient(0, FloatBuffer.wrap(gradient));
    long read = System.nanoTime();
    for (int i = 0; i < gradient.length; i++) {
      parameters[i] -= RATE * gradient[i];
    }
    long stepped = System.nanoTime();
    writing += (written - start) / MILLIS;
    computing += (computed - written) / MILLIS;
    reading += (read - computed) / MILLIS;
    stepping += (stepped - read) / MILLIS;
    times.add((stepped - start) / MILLIS);
  }

  private JsonObject toJson(int samples) {
    Repetitions all = Repetitions.of(times);
    return new JsonObject()
        .put("millisPerStep", all.median())
        .put("samplesPerSecond", samples / all.median() * 1e3)
        .put("p99", all.percentile(99))
        .put("write", writing / all.count())
        .put("gradient", computing / all.count())
        .put("read", reading / all.count())
        .put("optimizer", stepping / all.count());
  }
}
