package io.vertigrad.engine.dl4j.models;

import io.vertigrad.compute.ModelConfig;
import java.util.List;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** The layers and settings that the built-in networks share. */
final class Layers {

  private Layers() {}

  static NeuralNetConfiguration.Builder defaults(long seed) {
    return new NeuralNetConfiguration.Builder()
        .seed(seed)
        .dataType(DataType.FLOAT)
        .updater(new Sgd())
        .trainingWorkspaceMode(WorkspaceMode.ENABLED)
        .inferenceWorkspaceMode(WorkspaceMode.ENABLED)
        .cacheMode(CacheMode.DEVICE);
  }

  /**
   * Returns a dense layer with the activation and the loss that the job asks for. Its input width
   * follows from the previous layer.
   */
  static OutputLayer output(String name, ModelConfig config) {
    return builder(name, config).build();
  }

  static OutputLayer output(String name, ModelConfig config, int inputs) {
    return builder(name, config).nIn(inputs).build();
  }

  private static OutputLayer.Builder builder(String name, ModelConfig config) {
    OutputLayer.Builder output =
        switch (config.loss()) {
          case CROSS_ENTROPY ->
              new OutputLayer.Builder(LossFunction.MCXENT).activation(Activation.SOFTMAX);
          case BINARY_CROSS_ENTROPY ->
              new OutputLayer.Builder(LossFunction.XENT).activation(Activation.SIGMOID);
          case MEAN_SQUARED_ERROR ->
              new OutputLayer.Builder(LossFunction.MSE).activation(Activation.IDENTITY);
        };
    return output.name(name).nOut(config.classes());
  }

  /**
   * Returns the input type of a network on images.
   *
   * @param least smallest height and width that the convolutions and pools accept
   */
  static InputType images(ModelConfig config, int least) {
    List<Integer> shape = config.inputShape();
    if (shape.size() != 3 || shape.get(1) < least || shape.get(2) < least) {
      throw new IllegalArgumentException(
          "model %s: samples are %s, expected [channels, height, width] of at least %s x %s"
              .formatted(config.name(), shape, least, least));
    }
    return InputType.convolutional(shape.get(1), shape.get(2), shape.get(0), CNN2DFormat.NCHW);
  }
}
