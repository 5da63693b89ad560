package io.vertigrad.engine.dl4j.models;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.engine.dl4j.ModelFactory;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;

/**
 * Builds {@code convnet}: the small network of Ray's parameter-server example.
 *
 * <p>Convolution to 3 channels of 3 x 3 without padding, max-pool 3, ReLU, dense, softmax: 1,960
 * parameters for 28 x 28 digits. Option {@code initialization}: {@code pytorch} (default) or {@code
 * glorot}.
 */
public final class ConvNetFactory implements ModelFactory {

  @Override
  public String name() {
    return "convnet";
  }

  @Override
  public Set<String> options() {
    return Set.of(Initialization.KEY);
  }

  @Override
  public void check(Settings options) {
    Initialization.check(options);
  }

  @Override
  public NeuralNetwork network(ModelConfig config) {
    MultiLayerConfiguration layers =
        Layers.defaults(config.seed())
            .list()
            .layer(
                new ConvolutionLayer.Builder(3, 3)
                    .name("conv1")
                    .nOut(3)
                    .activation(Activation.IDENTITY)
                    .build())
            .layer(
                new SubsamplingLayer.Builder(PoolingType.MAX)
                    .name("pool1")
                    .kernelSize(3, 3)
                    .stride(3, 3)
                    .build())
            .layer(new ActivationLayer.Builder().name("relu1").activation(Activation.RELU).build())
            .layer(Layers.output("fc", config))
            .setInputType(Layers.images(config, 5))
            .build();
    MultiLayerNetwork network = new MultiLayerNetwork(layers);
    network.init();
    Initialization.apply(config, network.paramTable());
    return network;
  }
}
