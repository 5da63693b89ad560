package io.vertigrad.compute.dl4j.models;

import io.vertigrad.compute.dl4j.kernels.NativeFloats;
import java.nio.FloatBuffer;
import java.util.Map;
import java.util.SplittableRandom;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * PyTorch's default initialisation of dense and convolution layers.
 *
 * <p>Weights and biases are uniform in {@code [-1/sqrt(n), 1/sqrt(n))}, n the number of inputs of
 * one unit ({@code kaiming_uniform_} with {@code a = sqrt(5)}). Batch-norm arrays are left as they
 * are: scale 1, offset 0, mean 0, variance 1.
 */
final class TorchInitialization {

  private TorchInitialization() {}

  /**
   * Fills every layer's arrays in the order of the table.
   *
   * @param table arrays by the name DL4J gives them, {@code 0_W} or {@code conv1_b}
   */
  static void apply(Map<String, INDArray> table, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    table.forEach(
        (name, weights) -> {
          if (name.endsWith("_W")) {
            double bound = 1 / Math.sqrt(inputsPerUnit(weights));
            fill(weights, bound, random);
            INDArray bias = table.get(name.substring(0, name.length() - 1) + "b");
            if (bias != null) {
              fill(bias, bound, random);
            }
          }
        });
  }

  /** Convolution weights are [out, in, height, width], dense ones [in, out]. */
  private static long inputsPerUnit(INDArray weights) {
    return weights.rank() == 4 ? weights.length() / weights.size(0) : weights.size(0);
  }

  private static void fill(INDArray array, double bound, SplittableRandom random) {
    NativeFloats.fetch(array);
    FloatBuffer values = NativeFloats.of(array);
    for (int i = 0; i < values.capacity(); i++) {
      values.put(i, (float) ((2 * random.nextDouble() - 1) * bound));
    }
    NativeFloats.written(array);
  }
}
