package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Block;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/** The common interface of DL4J's two kinds of network, as far as distributed training needs it. */
interface Network {

  /** One named array of a network, a view of its flat parameters. */
  record Parameter(String name, INDArray values, Block.Kind kind) {}

  /** Returns all parameters, contiguous in memory; always the same object. */
  INDArray parameters();

  /**
   * Returns the gradients, contiguous and in the order of the parameters; always the same object.
   */
  INDArray gradients();

  /** Returns the named arrays, in no particular order. */
  List<Parameter> arrays();

  /**
   * Returns true when a sample is an image {@code [channels, height, width]}, false when it is a
   * row.
   */
  boolean takesImages();

  /**
   * Runs one forward and backward pass in training mode.
   *
   * @return mean loss of the batch; the gradients hold the sum over the batch
   */
  double gradient(INDArray features, INDArray labels);

  /**
   * Sets a listener for layers whose gradient is final before the backward pass has ended. A stock
   * layer reports nothing.
   *
   * @param listener receives the layer's name, which is the name of its {@linkplain #arrays()
   *     arrays} up to their last dot
   */
  void onLayerGradientFinal(Consumer<String> listener);

  /**
   * Returns the number of correct predictions in the last gradient's forward pass; -1 if unknown.
   */
  int correct();

  /**
   * Returns the outputs of the last gradient's forward pass, sample after sample.
   *
   * @return empty if a forward pass in inference mode could compute others, or they are unknown
   */
  default Optional<float[]> gradientOutputs() {
    return Optional.empty();
  }

  /** Runs one forward pass in inference mode; the result is stored in the workspace. */
  INDArray output(INDArray features, MemoryWorkspace workspace);

  void save(Path file) throws IOException;

  /**
   * Writes the network in the format ONNX.
   *
   * @param inputShape one sample's dimensions in the data set
   * @param sample one sample's dimensions as this network takes them
   * @param classes number of outputs
   * @throws IllegalArgumentException naming the first layer that cannot be written
   */
  void exportOnnx(Path file, List<Integer> inputShape, List<Integer> sample, int classes)
      throws IOException;
}
