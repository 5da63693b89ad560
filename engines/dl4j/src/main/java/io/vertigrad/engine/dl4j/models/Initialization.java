package io.vertigrad.engine.dl4j.models;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.nio.FloatBuffer;
import java.util.Map;
import java.util.SplittableRandom;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Sets the initial parameters of dense and convolution layers: option {@code initialization} of the
 * built-in networks.
 *
 * <p>Batch-norm arrays are not changed: scale 1, offset 0, mean 0, variance 1, the initial values
 * of PyTorch and Keras too.
 */
enum Initialization {

  /**
   * PyTorch's default, {@code kaiming_uniform_} with {@code a = sqrt(5)}: weights and biases are
   * uniform in {@code [-1/sqrt(n), 1/sqrt(n))}, n the number of inputs of one unit.
   */
  PYTORCH {
    @Override
    double bound(Fans fans) {
      return 1 / Math.sqrt(fans.in());
    }

    @Override
    void fillBias(INDArray bias, double bound, SplittableRandom random) {
      fill(bias, bound, random);
    }
  },

  /**
   * Keras' default, {@code glorot_uniform} (Glorot, Bengio: "Understanding the difficulty of
   * training deep feedforward neural networks", AISTATS 2010): weights are uniform in {@code [-r,
   * r)} with {@code r = sqrt(6 / (in + out))}, biases are 0.
   */
  GLOROT {
    @Override
    double bound(Fans fans) {
      return Math.sqrt(6.0 / (fans.in() + fans.out()));
    }

    @Override
    void fillBias(INDArray bias, double bound, SplittableRandom random) {
      bias.assign(0);
    }
  };

  /** The option's name in a job file. */
  static final String KEY = "initialization";

  /**
   * The number of inputs of one output of a layer, and of outputs of one input; for a convolution,
   * counted over all positions of its window.
   */
  private record Fans(long in, long out) {

    /**
     * Returns the counts for weights: {@code [out, in, height, width]} of a convolution or {@code
     * [in, out]} of a dense layer.
     */
    static Fans of(INDArray weights) {
      return weights.rank() == 4
          ? new Fans(weights.length() / weights.size(0), weights.length() / weights.size(1))
          : new Fans(weights.size(0), weights.size(1));
    }
  }

  abstract double bound(Fans fans);

  abstract void fillBias(INDArray bias, double bound, SplittableRandom random);

  /**
   * Checks the option without building anything.
   *
   * @throws io.vertigrad.compute.settings.SettingsException when it names no initialization
   */
  static void check(Settings options) {
    options.choice(KEY, "pytorch", "pytorch", "glorot");
  }

  /**
   * Fills every layer's arrays in the order of the table, by the initialization that the model's
   * options name; {@code pytorch} by default.
   *
   * @param table arrays by the name DL4J gives them, {@code 0_W} or {@code conv1_b}
   * @throws IllegalArgumentException when the option names no initialization
   */
  static void apply(ModelConfig config, Map<String, INDArray> table) {
    String name = Options.choice(config, KEY, "pytorch", "pytorch", "glorot");
    Initialization chosen = name.equals("glorot") ? GLOROT : PYTORCH;
    chosen.fillAll(table, new SplittableRandom(config.seed()));
  }

  private void fillAll(Map<String, INDArray> table, SplittableRandom random) {
    table.forEach(
        (name, weights) -> {
          if (name.endsWith("_W")) {
            double bound = bound(Fans.of(weights));
            fill(weights, bound, random);
            INDArray bias = table.get(name.substring(0, name.length() - 1) + "b");
            if (bias != null) {
              fillBias(bias, bound, random);
            }
          }
        });
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
