package io.vertigrad.engine.dl4j;

import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.CnnLossLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** Builds one small convolution to check that DL4J uses its fast implementation. */
final class ConvolutionCheck {

  private ConvolutionCheck() {}

  /**
   * Returns true when convolutions run on oneDNN or cuDNN. DL4J's fallback is 3 to 11 times slower
   * and reports nothing.
   */
  static boolean helpersWork() {
    MultiLayerNetwork network =
        new MultiLayerNetwork(
            new NeuralNetConfiguration.Builder()
                .list()
                .layer(new ConvolutionLayer.Builder(3, 3).nIn(1).nOut(1).build())
                .layer(new CnnLossLayer.Builder().build())
                .build());
    network.init();
    return network.getLayer(0).getHelper() != null;
  }
}
