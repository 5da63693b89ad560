package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.pipeline.Balance;
import io.vertigrad.compute.pipeline.EvenCuts;
import io.vertigrad.compute.pipeline.SplitConfig;
import java.util.List;
import java.util.stream.IntStream;

/** Chooses where to cut a network so that its most expensive stage costs as little as possible. */
final class Balancer {

  private final SplitNetwork network;
  private final CutPoints points;
  private final SplitConfig split;

  Balancer(SplitNetwork network, CutPoints points, SplitConfig split) {
    this.network = network;
    this.points = points;
    this.split = split;
  }

  /** Indices of the layers with which all stages but the last end. */
  List<Integer> ends() {
    List<Integer> places = points.sensible();
    if (places.size() + 1 < split.stages()) {
      throw points.tooFew(split.stages());
    }
    network.cutAt(places);
    double[] costs = split.balance() == Balance.TIME ? seconds() : parameters();
    return EvenCuts.of(costs, split.stages()).stream().map(places::get).toList();
  }

  private double[] parameters() {
    return network.stages().stream().mapToDouble(stage -> stage.layout().trainable()).toArray();
  }

  private double[] seconds() {
    return IntStream.range(0, network.stages().size())
        .mapToDouble(index -> new StageTimer(network.stage(index), split.samples()).seconds())
        .toArray();
  }
}
