package io.vertigrad.engine.dl4j.kernels;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.VertexIndices;
import org.deeplearning4j.nn.graph.vertex.impl.ElementWiseVertex;
import org.deeplearning4j.nn.graph.vertex.impl.LayerVertex;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/**
 * Merges a ReLU into the batch norm or sum before it, if nothing else reads their output. The
 * forward pass then makes one pass over memory instead of two and gives the same bits.
 */
final class Fusion {

  private Fusion() {}

  static void rectify(MultiLayerNetwork network) {
    Layer[] layers = network.getLayers();
    for (int i = 0; i + 1 < layers.length; i++) {
      boolean adjacent = network.getLayerWiseConfigurations().getInputPreProcess(i + 1) == null;
      if (adjacent
          && layers[i] instanceof BatchNorm norm
          && layers[i + 1] instanceof Rectifier rectifier) {
        norm.rectify();
        rectifier.skipForward();
      }
    }
  }

  static void rectify(ComputationGraph graph, Scratch scratch) {
    GraphVertex[] vertices = graph.getVertices();
    for (int i = 0; i < vertices.length; i++) {
      Rectifier rectifier = onlyConsumer(vertices, vertices[i]);
      if (rectifier == null) {
        continue;
      }
      if (vertices[i].getLayer() instanceof BatchNorm norm) {
        norm.rectify();
        rectifier.skipForward();
      } else if (adds(graph, vertices[i])) {
        vertices[i] = new RectifiedSum(vertices[i], scratch);
        rectifier.skipForward();
      }
    }
  }

  private static Rectifier onlyConsumer(GraphVertex[] vertices, GraphVertex vertex) {
    VertexIndices[] followers = vertex.getOutputVertices();
    if (vertex.isOutputVertex() || followers == null || followers.length != 1) {
      return null;
    }
    return vertices[followers[0].getVertexIndex()] instanceof LayerVertex follower
            && follower.getLayerPreProcessor() == null
            && follower.getLayer() instanceof Rectifier rectifier
        ? rectifier
        : null;
  }

  private static boolean adds(ComputationGraph graph, GraphVertex vertex) {
    return vertex.getClass() == ElementWiseVertex.class
        && graph.getConfiguration().getVertices().get(vertex.getVertexName())
            instanceof org.deeplearning4j.nn.conf.graph.ElementWiseVertex sum
        && sum.getOp() == org.deeplearning4j.nn.conf.graph.ElementWiseVertex.Op.Add;
  }
}
