package io.vertigrad.engine.dl4j;

import io.vertigrad.engine.dl4j.kernels.InputTap;
import io.vertigrad.engine.dl4j.kernels.StageEnd;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * The layers of one stage as a graph.
 *
 * <p>Unless the stage reads the data, a layer before them records the gradient of the input. Unless
 * the stage ends with the loss, a layer after them takes the gradient of the output as its labels.
 *
 * @param graph ready to compute
 * @param network the same graph as a {@link Network}
 * @param tap records the input's gradient; null in the first stage
 */
record StageGraph(ComputationGraph graph, GraphNetwork network, InputTap tap) {

  private static final String TAP = "vertigrad-in";
  private static final String END = "vertigrad-out";

  /**
   * Cuts a run of layers out of the network.
   *
   * @param values their parameters, by name
   */
  static StageGraph of(
      Outline whole,
      List<String> layers,
      boolean first,
      boolean last,
      Map<String, INDArray> values) {
    ComputationGraphConfiguration part = part(whole, layers);
    if (!first) {
      putInFront(part, whole.inputsOf(layers.get(0)).get(0), new HashSet<>(layers));
    }
    if (!last) {
      putBehind(part, layers.get(layers.size() - 1));
    }
    keepOrder(part, layers, first, last);
    ComputationGraph graph = new ComputationGraph(part);
    long length = values.values().stream().mapToLong(INDArray::length).sum();
    graph.init(Nd4j.create(DataType.FLOAT, 1, length), false);
    GraphNetwork network = GraphNetwork.training(graph);
    network.arrays().forEach(array -> array.values().assign(values.get(array.name())));
    InputTap tap = null;
    if (!first) {
      tap = new InputTap(graph.getLayer(TAP));
      replace(graph, TAP, tap);
    }
    if (!last) {
      replace(graph, END, new StageEnd(graph.getLayer(END)));
    }
    return new StageGraph(graph, network, tap);
  }

  private static ComputationGraphConfiguration part(Outline whole, List<String> layers) {
    ComputationGraphConfiguration part = whole.graph().clone();
    part.getVertices().keySet().retainAll(layers);
    part.getVertexInputs().keySet().retainAll(layers);
    part.setNetworkOutputs(List.of(layers.get(layers.size() - 1)));
    return part;
  }

  private static void putInFront(
      ComputationGraphConfiguration part, String read, Set<String> layers) {
    String input = part.getNetworkInputs().get(0);
    part.getVertexInputs()
        .replaceAll(
            (name, inputs) -> inputs.stream().map(i -> layers.contains(i) ? i : TAP).toList());
    ActivationLayer tap =
        new ActivationLayer.Builder().name(TAP).activation(Activation.IDENTITY).build();
    add(part, TAP, tap, input);
  }

  private static void putBehind(ComputationGraphConfiguration part, String last) {
    LossLayer end =
        new LossLayer.Builder(LossFunction.MSE).name(END).activation(Activation.IDENTITY).build();
    add(part, END, end, last);
    part.setNetworkOutputs(List.of(END));
  }

  private static void add(
      ComputationGraphConfiguration part,
      String name,
      org.deeplearning4j.nn.conf.layers.Layer layer,
      String input) {
    NeuralNetConfiguration configuration =
        new NeuralNetConfiguration.Builder().layer(layer).build();
    part.getVertices().put(name, new LayerVertex(configuration, null));
    part.getVertexInputs().put(name, List.of(input));
  }

  /**
   * Orders the layers as in the whole network, so that parameters and sums of gradients have the
   * same order.
   */
  private static void keepOrder(
      ComputationGraphConfiguration part, List<String> layers, boolean first, boolean last) {
    List<String> order = new ArrayList<>(part.getNetworkInputs());
    if (!first) {
      order.add(TAP);
    }
    order.addAll(layers);
    if (!last) {
      order.add(END);
    }
    part.setTopologicalOrderStr(order);
    part.setTopologicalOrder(IntStream.range(0, order.size()).toArray());
  }

  private static void replace(ComputationGraph graph, String name, Layer layer) {
    Layer stock = graph.getLayer(name);
    layer.setIndex(stock.getIndex());
    layer.setCacheMode(stock.conf().getCacheMode());
    Layer[] layers = graph.getLayers();
    layers[Arrays.asList(layers).indexOf(stock)] = layer;
    ((org.deeplearning4j.nn.graph.vertex.impl.LayerVertex) graph.getVertex(name)).setLayer(layer);
  }
}
