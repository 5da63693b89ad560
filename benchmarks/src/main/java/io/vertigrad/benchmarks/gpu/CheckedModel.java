package io.vertigrad.benchmarks.gpu;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Device;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.ModelConfig;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * A model and random samples for it.
 *
 * @param name as in job files; a name that ends in {@code .pt} is the transformer of
 *     examples/pytorch
 * @param hidden width of the hidden layer; 0 for models that have none
 * @param batch samples in a step
 */
record CheckedModel(String name, int hidden, int batch) {

  private static final String MODULE = ".pt";
  private static final int CLASSES = 10;
  private static final int TOKENS = 256;
  private static final int LENGTH = 32;
  private static final int SEED = 5;

  /** Parses {@code NAME:HIDDEN:BATCH}. */
  static CheckedModel parse(String text) {
    int batch = text.lastIndexOf(':');
    int hidden = text.lastIndexOf(':', batch - 1);
    return new CheckedModel(
        text.substring(0, hidden),
        Integer.parseInt(text.substring(hidden + 1, batch)),
        Integer.parseInt(text.substring(batch + 1)));
  }

  boolean isTransformer() {
    return name.endsWith(MODULE);
  }

  ModelConfig config(Device device) {
    if (isTransformer()) {
      return new ModelConfig(
              name, Map.of(), List.of(LENGTH), TOKENS, 1, 1, Loss.CROSS_ENTROPY, LENGTH, TOKENS)
          .on(device);
    }
    Map<String, Object> options =
        hidden > 0
            ? Map.of("hidden", hidden)
            : name.equals("resnet20") ? Map.of("shortcut", "A") : Map.of();
    return new ModelConfig(name, options, shape(), CLASSES, 1, 1).on(device);
  }

  /** Returns random samples that are the same in every process. */
  Batch samples() {
    SplittableRandom random = new SplittableRandom(SEED);
    int answers = isTransformer() ? LENGTH : 1;
    int classes = isTransformer() ? TOKENS : CLASSES;
    float[] features = new float[batch * shape().stream().reduce(1, Math::multiplyExact)];
    for (int i = 0; i < features.length; i++) {
      features[i] =
          isTransformer() ? random.nextInt(TOKENS) : (float) (2 * random.nextDouble() - 1);
    }
    int[] labels = random.ints((long) batch * answers, 0, classes).toArray();
    return new Batch(batch, features, labels, new float[0], shape(), 0);
  }

  /** Returns the text that {@link #parse} reads. */
  @Override
  public String toString() {
    return "%s:%s:%s".formatted(name, hidden, batch);
  }

  private List<Integer> shape() {
    if (isTransformer()) {
      return List.of(LENGTH);
    }
    return name.equals("resnet20") ? List.of(3, 32, 32) : List.of(1, 28, 28);
  }
}
