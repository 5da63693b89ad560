package io.vertigrad.engine.dl4j;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The structure of a network: a graph of layers, each after the layers that it reads. A chain of
 * layers is a graph too.
 *
 * @param graph configuration of the network, from which stages are cut
 * @param order names of all layers and vertices
 */
record Outline(ComputationGraphConfiguration graph, List<String> order) {

  private static final String INPUT = "in";

  static Outline of(NeuralNetwork network) {
    if (network instanceof ComputationGraph whole) {
      List<String> order = new ArrayList<>();
      for (int index : whole.topologicalSortOrder()) {
        order.add(whole.getVertices()[index].getVertexName());
      }
      order.removeAll(whole.getConfiguration().getNetworkInputs());
      return new Outline(whole.getConfiguration().clone(), List.copyOf(order));
    }
    return ofLayers((MultiLayerNetwork) network);
  }

  private static Outline ofLayers(MultiLayerNetwork network) {
    MultiLayerConfiguration layers = network.getLayerWiseConfigurations();
    GraphBuilder builder = new NeuralNetConfiguration.Builder().graphBuilder().addInputs(INPUT);
    List<String> order = new ArrayList<>();
    String before = INPUT;
    for (int i = 0; i < layers.getConfs().size(); i++) {
      String name = LayeredNetwork.name(network.getLayer(i));
      builder.addLayer(
          name, layers.getConf(i).getLayer().clone(), layers.getInputPreProcess(i), before);
      order.add(name);
      before = name;
    }
    return new Outline(builder.setOutputs(before).build(), List.copyOf(order));
  }

  /** Returns the name of the one input. */
  String input() {
    return graph.getNetworkInputs().get(0);
  }

  /** Returns the names of a layer's inputs. */
  List<String> inputsOf(String name) {
    return graph.getVertexInputs().get(name);
  }

  /** Returns the shapes of one sample's activations by the name of their layer or vertex. */
  Map<String, List<Integer>> shapes(NeuralNetwork network, INDArray sample) {
    Map<String, List<Integer>> shapes = new LinkedHashMap<>();
    if (network instanceof ComputationGraph whole) {
      whole.feedForward(sample, false).forEach((name, out) -> shapes.put(name, perSample(out)));
      return shapes;
    }
    List<INDArray> outputs = ((MultiLayerNetwork) network).feedForward(sample, false);
    shapes.put(input(), perSample(outputs.get(0)));
    for (int i = 0; i < order.size(); i++) {
      shapes.put(order.get(i), perSample(outputs.get(i + 1)));
    }
    return shapes;
  }

  /** Returns the reason why no stage may end with this layer; null if one may. */
  String obstacle(int end) {
    Set<String> before = new HashSet<>(order.subList(0, end + 1));
    before.add(input());
    for (String after : order.subList(end + 1, order.size())) {
      for (String read : inputsOf(after)) {
        if (before.contains(read) && !read.equals(order.get(end))) {
          return "%s, which comes after it, also reads %s, and only one activation may cross"
              .formatted(after, read);
        }
      }
    }
    return end == order.size() - 1 ? "it is the last layer" : null;
  }

  private static List<Integer> perSample(INDArray array) {
    List<Integer> shape = new ArrayList<>();
    for (int i = 1; i < array.rank(); i++) {
      shape.add(Math.toIntExact(array.size(i)));
    }
    return shape;
  }
}
