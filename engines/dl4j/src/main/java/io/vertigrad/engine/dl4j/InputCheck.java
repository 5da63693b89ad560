package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.ModelConfig;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Checks that a network fits the data set by sending one zero sample through it. */
final class InputCheck {

  private InputCheck() {}

  /**
   * Returns the shape in which the network takes the data set's samples: unchanged or as one row.
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
   * Sends two zero samples forward and backward. A damaged file may hold layers that fail only in
   * the backward pass.
   *
   * @param sample one sample's dimensions as the network takes them
   * @throws IllegalArgumentException when the network has no gradient for them
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
          "model %s: its output is %s for one sample, expected [1, %s] for the %s %s"
              .formatted(
                  config.name(),
                  Arrays.toString(outputs),
                  config.classes(),
                  config.classes(),
                  config.loss().targets().text()));
    }
  }

  /** Reports that the network took the sample but has another number of outputs. */
  private static final class OutputMismatch extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    OutputMismatch(String message) {
      super(message);
    }
  }
}
