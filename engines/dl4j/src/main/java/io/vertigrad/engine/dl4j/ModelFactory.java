package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.settings.Settings;
import java.util.OptionalLong;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;

/**
 * Builds one kind of network for the DL4J engine; the seam for models of one's own.
 *
 * <p>A factory is named in {@code META-INF/services} and selected by {@link #name()}, or is a class
 * with a public constructor without arguments, selected by its class name.
 */
public interface ModelFactory {

  /** The name used in job files, for example {@code convnet}. */
  String name();

  /** The options it understands; any other is refused before it is asked. */
  Set<String> options();

  /**
   * Checks the values of the options before anything is built; without an override every value is
   * accepted here, and {@link #network} may still refuse it.
   *
   * @param options the section of the job file; a key is read as its bounds demand
   * @throws io.vertigrad.compute.settings.SettingsException when a value is out of range
   */
  default void check(Settings options) {}

  /**
   * How many parameters the network has, for an estimate of the memory before anything is built.
   *
   * @return empty where only building it tells
   */
  default OptionalLong parameters(ModelConfig config) {
    return OptionalLong.empty();
  }

  /**
   * A new, initialised network with softmax outputs: the same bits for the same configuration.
   *
   * @return a {@code MultiLayerNetwork} or a {@code ComputationGraph} of floats
   * @throws IllegalArgumentException with a message for the user when the configuration does not
   *     fit
   */
  NeuralNetwork network(ModelConfig config);
}
