package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Loss;
import io.vertigrad.compute.ModelConfig;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.layers.BaseOutputLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.lossfunctions.ILossFunction;
import org.nd4j.linalg.lossfunctions.impl.LossBinaryXENT;
import org.nd4j.linalg.lossfunctions.impl.LossMSE;

/** Compares the loss of a network's output layer with the loss that the job asks for. */
final class LossCheck {

  private LossCheck() {}

  /**
   * Refuses a network that is trained by another loss.
   *
   * @throws IllegalArgumentException naming the model, what its output layer has, and what to do
   */
  static void require(NeuralNetwork network, ModelConfig config) {
    if (config.positions() > 1) {
      throw new IllegalArgumentException(
          "model %s: the data have a class at each of %s positions, but the engine dl4j predicts one class per sample; expected engine pytorch, or data with one target for each sample (data.predict next)"
              .formatted(config.name(), config.positions()));
    }
    Layer output = outputOf(network);
    if (output == null) {
      return;
    }
    Object layer = output.conf().getLayer();
    ILossFunction loss =
        layer instanceof BaseOutputLayer dense
            ? dense.getLossFn()
            : layer instanceof LossLayer plain ? plain.getLossFn() : null;
    if (loss == null) {
      return;
    }
    IActivation activation = ((FeedForwardLayer) layer).getActivationFn();
    boolean fits =
        switch (config.loss()) {
          case CROSS_ENTROPY -> !isBinary(loss, activation) && !isSquared(loss, activation);
          case BINARY_CROSS_ENTROPY -> isBinary(loss, activation);
          case MEAN_SQUARED_ERROR -> isSquared(loss, activation);
        };
    if (!fits) {
      throw new IllegalArgumentException(
          "model %s: its output layer has %s after %s, expected %s for model.loss %s; %s"
              .formatted(
                  config.name(),
                  loss.getClass().getSimpleName(),
                  activation.getClass().getSimpleName(),
                  expected(config.loss()),
                  config.loss().key(),
                  advice(loss, activation)));
    }
  }

  private static Layer outputOf(NeuralNetwork network) {
    if (network instanceof MultiLayerNetwork layers) {
      return layers.getOutputLayer();
    }
    return network instanceof ComputationGraph graph && graph.getNumOutputArrays() == 1
        ? graph.getOutputLayer(0)
        : null;
  }

  private static boolean isBinary(ILossFunction loss, IActivation activation) {
    return loss instanceof LossBinaryXENT && activation instanceof ActivationSigmoid;
  }

  /**
   * Returns true for a squared error after any activation that computes each output independently.
   */
  private static boolean isSquared(ILossFunction loss, IActivation activation) {
    return loss.getClass() == LossMSE.class && !(activation instanceof ActivationSoftmax);
  }

  private static String expected(Loss loss) {
    return switch (loss) {
      case CROSS_ENTROPY -> "LossMCXENT or LossNegativeLogLikelihood after ActivationSoftmax";
      case BINARY_CROSS_ENTROPY -> "LossBinaryXENT after ActivationSigmoid";
      case MEAN_SQUARED_ERROR -> "LossMSE after ActivationIdentity";
    };
  }

  private static String advice(ILossFunction loss, IActivation activation) {
    Loss own =
        isBinary(loss, activation)
            ? Loss.BINARY_CROSS_ENTROPY
            : isSquared(loss, activation)
                ? Loss.MEAN_SQUARED_ERROR
                : activation instanceof ActivationSoftmax ? Loss.CROSS_ENTROPY : null;
    return own == null
        ? "build the network with that output layer"
        : "build the network with that output layer, or set model.loss to " + own.key();
  }
}
