package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Loss;
import java.nio.file.Path;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;

/**
 * Reads networks that another program has saved. Implement it for a file format in an artifact of
 * its own. A format is named in {@code META-INF/services} and selected by the ending of {@code
 * model.name}.
 */
public interface ModelFormat {

  /**
   * Returns the endings of the files that it reads, in lower case and with their dot, for example
   * {@code .h5}.
   */
  Set<String> endings();

  /**
   * Builds the network of a file with the file's parameters and with the output layer for a loss.
   * The file's content is checked before it reaches native code.
   *
   * @param file exists
   * @param seed of random numbers during training, such as dropout
   * @param loss that the network is trained by
   * @return a {@code MultiLayerNetwork} or a {@code ComputationGraph} of floats
   * @throws IllegalArgumentException naming the file, what was found and what was expected
   */
  NeuralNetwork read(Path file, long seed, Loss loss);
}
