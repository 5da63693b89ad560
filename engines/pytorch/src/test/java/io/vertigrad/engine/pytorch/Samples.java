package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Creates random batches and measures distances, for the tests of engines. */
final class Samples {

  private Samples() {}

  static Batch batch(int count, List<Integer> shape, int classes, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    float[] features = new float[count * shape.stream().reduce(1, Math::multiplyExact)];
    for (int i = 0; i < features.length; i++) {
      features[i] = (float) (2 * random.nextDouble() - 1);
    }
    int[] labels = new int[count];
    for (int i = 0; i < count; i++) {
      labels[i] = random.nextInt(classes);
    }
    return new Batch(features, labels, shape, 0);
  }

  /** Returns samples {@code [first, end)} of a batch. */
  static Batch part(Batch batch, int first, int end) {
    int size = batch.features().length / batch.count();
    return new Batch(
        Arrays.copyOfRange(batch.features(), first * size, end * size),
        Arrays.copyOfRange(batch.labels(), first, end),
        batch.shape(),
        batch.epoch());
  }

  static float[] parameters(Model model) {
    float[] values = new float[model.layout().length()];
    model.readParameters(0, FloatBuffer.wrap(values));
    return values;
  }

  /** Computes a batch's gradient and returns it. */
  static float[] gradient(Model model, Batch batch) {
    model.gradient(batch);
    float[] values = new float[model.layout().length()];
    model.readGradient(0, FloatBuffer.wrap(values));
    return values;
  }

  /** Returns {@code |actual - expected| / |expected|} in the L2 norm. */
  static double distance(float[] expected, float[] actual) {
    double difference = 0;
    double length = 0;
    for (int i = 0; i < expected.length; i++) {
      difference += Math.pow(actual[i] - (double) expected[i], 2);
      length += Math.pow(expected[i], 2);
    }
    return Math.sqrt(difference / length);
  }
}
