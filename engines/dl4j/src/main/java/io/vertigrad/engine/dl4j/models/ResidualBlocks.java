package io.vertigrad.engine.dl4j.models;

import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.nd4j.linalg.activations.Activation;

/**
 * Adds the blocks of a residual network to a graph. Every vertex is one that DL4J contains.
 *
 * <p>All widths are given, because DL4J infers a wrong one after a {@code SubsetVertex}.
 */
final class ResidualBlocks {

  private static final double DECAY = 0.9;
  private static final double EPSILON = 1e-5;

  /** A square convolution that keeps height and width, or with stride 2 halves them. */
  private record Convolution(int channelsIn, int channelsOut, int kernel, int stride) {}

  private final GraphBuilder graph;
  private final boolean projects;

  /**
   * Adds blocks to one graph.
   *
   * @param projects whether a shortcut between widths is a convolution instead of padding
   */
  ResidualBlocks(GraphBuilder graph, boolean projects) {
    this.graph = graph;
    this.projects = projects;
  }

  /** Adds convolution, batch norm and ReLU; returns the name of the last vertex. */
  String stem(String input, int channelsIn, int channelsOut) {
    return relu("stem", normalised("stem", input, new Convolution(channelsIn, channelsOut, 3, 1)));
  }

  /** Adds two convolutions beside a shortcut; a change of width halves height and width. */
  String block(String name, String input, int channelsIn, int channelsOut) {
    int stride = channelsIn == channelsOut ? 1 : 2;
    Convolution narrowing = new Convolution(channelsIn, channelsOut, 3, stride);
    Convolution keeping = new Convolution(channelsOut, channelsOut, 3, 1);
    String first = relu(name + "a", normalised(name + "a", input, narrowing));
    String second = normalised(name + "b", first, keeping);
    String shortcut = stride == 1 ? input : shortcut(name, input, channelsIn, channelsOut);
    String sum = name + "-add";
    graph.addVertex(sum, new ElementWiseVertex(ElementWiseVertex.Op.Add), second, shortcut);
    return relu(name, sum);
  }

  private String shortcut(String name, String input, int channelsIn, int channelsOut) {
    if (projects) {
      return normalised(name + "s", input, new Convolution(channelsIn, channelsOut, 1, 2));
    }
    String half = name + "s-half";
    graph.addLayer(
        half,
        new SubsamplingLayer.Builder(PoolingType.MAX).kernelSize(1, 1).stride(2, 2).build(),
        input);
    String some = name + "s-some";
    graph.addVertex(some, new SubsetVertex(0, (channelsOut - channelsIn) / 2 - 1), half);
    String zero = name + "s-zero";
    graph.addVertex(zero, new ScaleVertex(0), some);
    graph.addVertex(name + "s-pad", new MergeVertex(), zero, half, zero);
    return name + "s-pad";
  }

  private String normalised(String name, String input, Convolution size) {
    graph.addLayer(
        name + "-conv",
        new ConvolutionLayer.Builder(size.kernel(), size.kernel())
            .stride(size.stride(), size.stride())
            .padding(size.kernel() / 2, size.kernel() / 2)
            .nIn(size.channelsIn())
            .nOut(size.channelsOut())
            .hasBias(false)
            .activation(Activation.IDENTITY)
            .build(),
        input);
    graph.addLayer(
        name + "-bn",
        new BatchNormalization.Builder()
            .nIn(size.channelsOut())
            .nOut(size.channelsOut())
            .decay(DECAY)
            .eps(EPSILON)
            .useLogStd(false)
            .build(),
        name + "-conv");
    return name + "-bn";
  }

  private String relu(String name, String input) {
    graph.addLayer(name + "-relu", new ActivationLayer(Activation.RELU), input);
    return name + "-relu";
  }
}
