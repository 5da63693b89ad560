package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Block;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/** What DL4J's two kinds of network have in common, as far as training over the bus needs it. */
interface Network {

  /** One named array of a network, a view of its flat parameters. */
  record Parameter(String name, INDArray values, Block.Kind kind) {}

  /** All parameters, contiguous in memory; always the same object. */
  INDArray parameters();

  /** Their gradients, contiguous and in the same order; always the same object. */
  INDArray gradients();

  /** The named arrays, in no particular order. */
  List<Parameter> arrays();

  /** Whether a sample goes in as an image {@code [channels, height, width]}, not as a row. */
  boolean takesImages();

  /**
   * One forward and backward pass in training mode.
   *
   * @return mean loss of the batch; the gradients are left summed over it
   */
  double gradient(INDArray features, INDArray labels);

  /**
   * From now on tells of every layer whose gradient is final before the backward pass has ended; a
   * stock layer tells nothing.
   *
   * @param done is given the layer's name, which is that of its {@linkplain #arrays() arrays} up to
   *     their last dot
   */
  void whenLayerIsDone(Consumer<String> done);

  /**
   * Samples that the last gradient's forward pass classified correctly; -1 where that is unknown.
   */
  int correct();

  /** One forward pass in inference mode; the result lives in the workspace. */
  INDArray output(INDArray features, MemoryWorkspace workspace);

  void save(Path file) throws IOException;

  /**
   * Writes the network in the format ONNX.
   *
   * @param inputShape one sample's dimensions in the data set
   * @param sample the same as this network takes them
   * @param classes number of outputs
   * @throws IllegalArgumentException naming the first layer that cannot be written
   */
  void exportOnnx(Path file, List<Integer> inputShape, List<Integer> sample, int classes)
      throws IOException;
}
