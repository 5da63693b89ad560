package io.vertigrad.compute.dl4j.kernels;

import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;

/** x. */
public final class Kernels {
  private Kernels() {}
  public static void install(MultiLayerNetwork network) {}
  public static void install(ComputationGraph graph) {}
}
