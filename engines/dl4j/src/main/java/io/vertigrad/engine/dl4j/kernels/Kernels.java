package io.vertigrad.engine.dl4j.kernels;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BaseLayer;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.LayerVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Replaces stock layers by the fast layers that compute the same. Only on the processor; a GPU has
 * kernels of its own.
 */
public final class Kernels {

  private static final Set<Class<?>> DETERMINISTIC =
      Set.of(
          ActivationLayer.class,
          ConvolutionLayer.class,
          DenseLayer.class,
          OutputLayer.class,
          SubsamplingLayer.class);

  private Kernels() {}

  /**
   * Replaces layers of an initialised network. Call it before the network's gradients are
   * allocated.
   */
  public static void install(MultiLayerNetwork network) {
    Scratch scratch = new Scratch();
    Layer[] layers = network.getLayers();
    for (int i = 0; i < layers.length; i++) {
      layers[i] = fast(layers[i], i == 0, scratch);
    }
    Fusion.rectify(network);
  }

  /**
   * Replaces layers of an initialised graph. Call it before the graph's gradients are allocated.
   */
  public static void install(ComputationGraph graph) {
    Scratch scratch = new Scratch();
    List<String> inputs = graph.getConfiguration().getNetworkInputs();
    Layer[] layers = graph.getLayers();
    for (GraphVertex vertex : graph.getVertices()) {
      if (vertex instanceof LayerVertex layerVertex) {
        List<String> before =
            graph.getConfiguration().getVertexInputs().get(vertex.getVertexName());
        Layer stock = layerVertex.getLayer();
        Layer fast = fast(stock, inputs.containsAll(before), scratch);
        layerVertex.setLayer(fast);
        layers[Arrays.asList(layers).indexOf(stock)] = fast;
      }
    }
    Fusion.rectify(graph, scratch);
  }

  /**
   * Returns the number of correct predictions that an output layer counted in its last backward
   * pass.
   *
   * @return -1 if it does not count them: a stock layer, or a layer that predicts values
   */
  public static int correct(Layer output) {
    return output instanceof FusedOutput counting ? counting.correct() : -1;
  }

  /**
   * Returns the outputs of the last backward pass of an output layer.
   *
   * @return empty if it does not keep them
   */
  public static Optional<float[]> outputs(Layer output) {
    return output instanceof FusedOutput keeping ? keeping.outputs() : Optional.empty();
  }

  /**
   * Returns whether a layer computes the same in training as in prediction.
   *
   * @return false for layers with dropout or noise, batch norm, and kinds that are not known
   */
  public static boolean trainsAsItPredicts(Layer layer) {
    org.deeplearning4j.nn.conf.layers.Layer of = layer.conf().getLayer();
    boolean noise = of instanceof BaseLayer based && based.getWeightNoise() != null;
    return DETERMINISTIC.contains(of.getClass()) && of.getIDropout() == null && !noise;
  }

  /**
   * Sets a listener that a layer calls in each backward pass when its gradient is final, on the
   * thread of the pass.
   *
   * @param layer a stock layer never calls it
   */
  public static void onGradientFinal(Layer layer, Runnable listener) {
    if (layer instanceof ReportingLayer reporting) {
      reporting.onGradientFinal(listener);
    }
  }

  private static Layer fast(Layer stock, boolean first, Scratch scratch) {
    if (!Nd4j.getEnvironment().isCPU()) {
      return stock;
    }
    Layer fast = Rectifier.of(stock, scratch);
    fast = fast != null ? fast : MaxPooling.of(stock, scratch);
    fast = fast != null ? fast : BatchNorm.of(stock, scratch);
    fast = fast != null ? fast : OneDnnConvolution.of(stock, first);
    fast = fast != null || !first ? fast : FirstConvolution.of(stock);
    fast = fast != null ? fast : PlainConvolution.of(stock);
    fast = fast != null ? fast : DenseUnits.of(stock, first, scratch);
    fast = fast != null ? fast : SoftmaxOutput.of(stock);
    fast = fast != null ? fast : SigmoidOutput.of(stock);
    fast = fast != null ? fast : LinearOutput.of(stock);
    fast = fast != null ? fast : StandaloneLoss.of(stock);
    if (fast == null) {
      return stock;
    }
    fast.setIndex(stock.getIndex());
    fast.setListeners(stock.getListeners());
    fast.setCacheMode(stock.conf().getCacheMode());
    return fast;
  }
}
