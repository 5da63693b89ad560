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
            .formatted(config.name(), config.inputShape(), firstLine(first)),
        first);
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

  private static String firstLine(Throwable failure) {
    String message = failure.getMessage();
    return message == null ? failure.toString() : message.lines().findFirst().orElse(message);
  }

  /** The network took the sample, but answered for another number of classes. */
  private static final class OutputMismatch extends IllegalArgumentException {

    private static final long serialVersionUID = 1L;

    OutputMismatch(String message) {
      super(message);
    }
  }
}
