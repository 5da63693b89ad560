package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Loss;
import java.nio.file.Path;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;

/**
 * Reads networks that another program has saved; the seam for file formats that not everybody
 * needs. A format is named in {@code META-INF/services} and selected by the ending of {@code
 * model.name}.
 */
public interface ModelFormat {

  /** Endings of the files it reads, in lower case and with their dot, for example {@code .h5}. */
  Set<String> endings();

  /**
   * Builds the network of a file, with the parameters that it holds and with the output layer of a
   * loss. Whatever the file holds is checked before native code is given it.
   *
   * @param file exists
   * @param seed of what training draws, such as dropout
   * @param loss that it is trained by
   * @return a {@code MultiLayerNetwork} or a {@code ComputationGraph} of floats
   * @throws IllegalArgumentException naming the file, what was found and what was expected
   */
  NeuralNetwork read(Path file, long seed, Loss loss);
}
