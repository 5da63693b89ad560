package io.vertigrad.engine.dl4j.models;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.engine.dl4j.ModelFactory;
import java.util.OptionalLong;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration.ListBuilder;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;

/**
 * Builds {@code mlp}: {@code layers} hidden ReLU layers (default 1) of {@code hidden} units each
 * (default 512), then softmax. Option {@code initialization}: {@code pytorch} (default) or {@code
 * glorot}.
 */
public final class MlpFactory implements ModelFactory {

  private static final String HIDDEN = "hidden";
  private static final String LAYERS = "layers";
  private static final int DEFAULT_HIDDEN = 512;
  private static final int DEFAULT_LAYERS = 1;
  private static final int MOST_HIDDEN = 1 << 20;
  private static final int MOST_LAYERS = 1_000;

  @Override
  public String name() {
    return "mlp";
  }

  @Override
  public Set<String> options() {
    return Set.of(HIDDEN, LAYERS, Initialization.KEY);
  }

  @Override
  public void check(Settings options) {
    options.integer(HIDDEN, DEFAULT_HIDDEN, 1, MOST_HIDDEN);
    options.integer(LAYERS, DEFAULT_LAYERS, 1, MOST_LAYERS);
    Initialization.check(options);
  }

  @Override
  public OptionalLong parameters(ModelConfig config) {
    long hidden = hidden(config);
    long between = (layers(config) - 1) * (hidden + 1) * hidden;
    return OptionalLong.of(
        (inputs(config) + 1L) * hidden + between + (hidden + 1) * config.classes());
  }

  @Override
  public NeuralNetwork network(ModelConfig config) {
    int inputs = inputs(config);
    int hidden = hidden(config);
    int layers = layers(config);
    ListBuilder list = Layers.defaults(config.seed()).list();
    for (int i = 1; i <= layers; i++) {
      list.layer(dense("fc" + i, i == 1 ? inputs : hidden, hidden));
    }
    list.layer(Layers.output("fc" + (layers + 1), config, hidden));
    MultiLayerNetwork network = new MultiLayerNetwork(list.build());
    network.init();
    Initialization.apply(config, network.paramTable());
    return network;
  }

  private static int inputs(ModelConfig config) {
    return config.inputShape().stream().reduce(1, Math::multiplyExact);
  }

  private static int hidden(ModelConfig config) {
    return Options.integer(config, HIDDEN, DEFAULT_HIDDEN, 1, MOST_HIDDEN);
  }

  private static int layers(ModelConfig config) {
    return Options.integer(config, LAYERS, DEFAULT_LAYERS, 1, MOST_LAYERS);
  }

  private static DenseLayer dense(String name, int inputs, int units) {
    return new DenseLayer.Builder()
        .name(name)
        .nIn(inputs)
        .nOut(units)
        .activation(Activation.RELU)
        .build();
  }
}
