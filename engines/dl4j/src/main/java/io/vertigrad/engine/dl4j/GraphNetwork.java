package io.vertigrad.engine.dl4j;

import io.vertigrad.engine.dl4j.kernels.Kernels;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.VertexIndices;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.layers.convolution.subsampling.SubsamplingLayer;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A network that is a graph of layers with one input and one output. */
final class GraphNetwork implements Network {

  private final ComputationGraph graph;

  private GraphNetwork(ComputationGraph graph) {
    this.graph = graph;
  }

  /** Returns the network unchanged, for inspection. */
  static GraphNetwork plain(ComputationGraph graph) {
    return new GraphNetwork(graph);
  }

  /** Returns the network with the fast layers installed, for training. */
  static GraphNetwork training(ComputationGraph graph) {
    graph.getConfiguration().setTrainingWorkspaceMode(WorkspaceMode.ENABLED);
    graph.getConfiguration().setInferenceWorkspaceMode(WorkspaceMode.ENABLED);
    graph.setCacheMode(CacheMode.DEVICE);
    Kernels.install(graph);
    graph.initGradientsView();
    return new GraphNetwork(graph);
  }

  @Override
  public INDArray parameters() {
    return graph.params();
  }

  @Override
  public INDArray gradients() {
    return graph.getGradientsViewArray();
  }

  @Override
  public List<Parameter> arrays() {
    List<Parameter> arrays = new ArrayList<>();
    for (GraphVertex vertex : graph.getVertices()) {
      if (vertex.numParams() > 0) {
        vertex
            .paramTable(false)
            .forEach(
                (key, values) ->
                    arrays.add(
                        new Parameter(
                            vertex.getVertexName() + "." + key,
                            values,
                            LayeredNetwork.kind(vertex, key))));
      }
    }
    return arrays;
  }

  @Override
  public boolean takesImages() {
    for (VertexIndices next : graph.getVertices()[0].getOutputVertices()) {
      GraphVertex vertex = graph.getVertices()[next.getVertexIndex()];
      if (vertex.hasLayer()
          && (vertex.getLayer() instanceof ConvolutionLayer
              || vertex.getLayer() instanceof SubsamplingLayer)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public double gradient(INDArray features, INDArray labels) {
    graph.setInput(0, features);
    graph.setLabels(labels);
    graph.computeGradientAndScore();
    return graph.score();
  }

  @Override
  public void onLayerGradientFinal(Consumer<String> listener) {
    for (GraphVertex vertex : graph.getVertices()) {
      if (vertex.hasLayer()) {
        Kernels.onGradientFinal(vertex.getLayer(), () -> listener.accept(vertex.getVertexName()));
      }
    }
  }

  @Override
  public int correct() {
    return Kernels.correct(graph.getOutputLayer(0));
  }

  @Override
  public INDArray output(INDArray features, MemoryWorkspace workspace) {
    return graph.output(false, workspace, features)[0];
  }

  @Override
  public void save(Path file) throws IOException {
    ModelSerializer.writeModel(graph, file.toFile(), false);
  }

  @Override
  public void exportOnnx(Path file, List<Integer> inputShape, List<Integer> sample, int classes)
      throws IOException {
    new OnnxExport(Outline.of(graph), arrays()).write(file, inputShape, sample, classes);
  }
}
