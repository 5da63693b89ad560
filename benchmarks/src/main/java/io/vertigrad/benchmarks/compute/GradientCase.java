package io.vertigrad.benchmarks.compute;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ModelConfig;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * One model and batch size of the compute benchmark.
 *
 * @param model its name in job files
 * @param batch samples in a step
 */
record GradientCase(String model, int batch) {

  private static final int CLASSES = 10;

  ModelConfig config() {
    return new ModelConfig(model, Map.of(), shape(), CLASSES, 1, 1);
  }

  /** Returns random samples that are the same in every process. */
  Batch samples() {
    Random random = new Random(1);
    float[] features = new float[batch * shape().stream().reduce(1, Math::multiplyExact)];
    for (int i = 0; i < features.length; i++) {
      features[i] = (float) random.nextGaussian();
    }
    return new Batch(features, random.ints(batch, 0, CLASSES).toArray(), shape(), 0);
  }

  /** Returns true when one step of stock DL4J takes seconds. */
  boolean isSlow() {
    return model.equals("resnet20");
  }

  @Override
  public String toString() {
    return "%s, batch %s".formatted(model, batch);
  }

  private List<Integer> shape() {
    return model.equals("resnet20") ? List.of(3, 32, 32) : List.of(1, 28, 28);
  }
}
