package io.vertigrad.compute.dl4j.models;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.dl4j.ModelFactory;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;

/** {@code mlp}: one hidden ReLU layer of {@code hidden} units (default 512), then softmax. */
public final class MlpFactory implements ModelFactory {

  private static final String HIDDEN = "hidden";
  private static final int MOST_HIDDEN = 1 << 20;

  @Override
  public String name() {
    return "mlp";
  }

  @Override
  public Set<String> options() {
    return Set.of(HIDDEN);
  }

  @Override
  public NeuralNetwork network(ModelConfig config) {
    int inputs = config.inputShape().stream().reduce(1, Math::multiplyExact);
    int hidden = Options.integer(config, HIDDEN, 512, 1, MOST_HIDDEN);
    MultiLayerConfiguration layers =
        Layers.defaults(config.seed())
            .list()
            .layer(
                new DenseLayer.Builder()
                    .name("fc1")
                    .nIn(inputs)
                    .nOut(hidden)
                    .activation(Activation.RELU)
                    .build())
            .layer(Layers.softmax("fc2", config.classes(), hidden))
            .build();
    MultiLayerNetwork network = new MultiLayerNetwork(layers);
    network.init();
    TorchInitialization.apply(network.paramTable(), config.seed());
    return network;
  }
}
