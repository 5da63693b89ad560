package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.settings.Settings;
import java.util.OptionalLong;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;

/**
 * Builds one kind of network for the DL4J engine. Implement it to train your own model.
 *
 * <p>A factory is either named in {@code META-INF/services} and selected by {@link #name()}, or it
 * is a class with a public constructor without arguments, selected by its class name.
 */
public interface ModelFactory {

  /** Returns the name used in job files, for example {@code convnet}. */
  String name();

  /**
   * Returns the options that the factory understands. Any other option is refused before the
   * factory is called.
   */
  Set<String> options();

  /**
   * Checks the values of the options before anything is built. The default accepts every value;
   * {@link #network} may still refuse it.
   *
   * @param options the section of the job file; reading a key checks its bounds
   * @throws io.vertigrad.compute.settings.SettingsException when a value is out of range
   */
  default void check(Settings options) {}

  /**
   * Returns the number of parameters of the network, to estimate the memory before anything is
   * built.
   *
   * @return empty when the network must be built to count them
   */
  default OptionalLong parameters(ModelConfig config) {
    return OptionalLong.empty();
  }

  /**
   * Builds and initialises a network with softmax outputs. The same configuration must give the
   * same bits.
   *
   * @return a {@code MultiLayerNetwork} or a {@code ComputationGraph} of floats
   * @throws IllegalArgumentException with a message for the user when the configuration does not
   *     fit
   */
  NeuralNetwork network(ModelConfig config);
}
