package io.vertigrad.engine.dl4j.kernels;

import java.util.Arrays;
import java.util.List;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.LayerVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Puts the fast layers in place of the stock ones wherever they compute the same; on the processor
 * only, a GPU has its own.
 */
public final class Kernels {

  private Kernels() {}

  /** Replaces layers of an initialised network; call it before its gradients are laid out. */
  public static void install(MultiLayerNetwork network) {
    Scratch scratch = new Scratch();
    Layer[] layers = network.getLayers();
    for (int i = 0; i < layers.length; i++) {
      layers[i] = fast(layers[i], i == 0, scratch);
    }
    Fusion.rectify(network);
  }

  /** Replaces layers of an initialised graph; call it before its gradients are laid out. */
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
   * How many answers the backward pass of an output layer last found right.
   *
   * @return -1 where it does not count them: a stock layer, or one that tells values
   */
  public static int correct(Layer output) {
    return output instanceof FusedOutput counting ? counting.correct() : -1;
  }

  /**
   * Has a layer tell when its gradient is final, in each backward pass and on its thread.
   *
   * @param layer a stock layer tells nothing
   */
  public static void whenDone(Layer layer, Runnable done) {
    if (layer instanceof ReportingLayer reporting) {
      reporting.whenDone(done);
    }
  }

  private static Layer fast(Layer stock, boolean first, Scratch scratch) {
    if (!Nd4j.getEnvironment().isCPU()) {
      return stock;
    }
    Layer fast = Rectifier.of(stock, scratch);
    fast = fast != null ? fast : MaxPooling.of(stock, scratch);
    fast = fast != null ? fast : BatchNorm.of(stock, scratch);
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
