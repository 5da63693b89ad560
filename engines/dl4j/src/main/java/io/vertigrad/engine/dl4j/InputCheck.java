package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.ModelConfig;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Sends one empty sample through a network to see whether it fits the data set. */
final class InputCheck {

  private InputCheck() {}

  /**
   * The form in which the network takes the data set's samples: as they are or as one row.
   *
   * @throws IllegalArgumentException when it takes neither or has another number of outputs
   */
  static List<Integer> sampleShape(Network network, ModelConfig config) {
    List<Integer> row = List.of(config.inputShape().stream().reduce(1, Math::multiplyExact));
    List<List<Integer>> forms = new ArrayList<>(List.of(row, config.inputShape()));
    if (network.takesImages()) {
      forms.remove(row);
    }
    RuntimeException first = null;
    for (List<Integer> form : forms) {
      try {
        checkOutputs(network, form, config);
        return form;
      } catch (OutputMismatch e) {
        throw e;
      } catch (RuntimeException e) {
        first = first == null ? e : first;
      }
    }
    throw new IllegalArgumentException(
        "model %s: does not take samples of shape %s: %s"
            .formatted(config.name(), config.inputShape(), SavedNetwork.reason(first)),
        first);
  }

  /**
   * Sends two empty samples forward and backward. A damaged file may hold layers that only the
   * backward pass cannot go through.
   *
   * @param sample one sample's dimensions as the network takes them
   * @throws IllegalArgumentException when it has no gradient for them
   */
  static void requireGradient(Network network, List<Integer> sample, ModelConfig config) {
    BatchArrays arrays = new BatchArrays(2, sample, config.classes());
    try {
      network.gradient(arrays.features(), arrays.labels());
    } catch (RuntimeException e) {
      throw new IllegalArgumentException(
          "model %s: takes samples of shape %s, but cannot be trained on them (%s), expected layers that fit each other"
              .formatted(config.name(), config.inputShape(), SavedNetwork.reason(e)),
          e);
    }
  }

  private static void checkOutputs(Network network, List<Integer> form, ModelConfig config) {
    INDArray sample = new BatchArrays(1, form, config.classes()).features();
    long[] outputs = network.output(sample, null).shape();
    if (outputs.length != 2 || outputs[1] != config.classes()) {
      throw new OutputMismatch(
          "model %s: its output is %s for one sample, expected [1, %d] for the %d %s"
              .formatted(
                  config.name(),
                  Arrays.toString(outputs),
                  config.classes(),
                  config.classes(),
                  config.loss().targets().text()));
    }
  }

  /** The network took the sample, but answered for another number of classes. */
  private static final class OutputMismatch extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    OutputMismatch(String message) {
      super(message);
    }
  }
}
