package io.vertigrad.compute.pipeline;

import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Chooses where to cut a network so that its most expensive stage costs as little as possible. */
public final class Balancer {

  private final SplitModel network;
  private final Consumer<List<Integer>> cutAt;
  private final CutPoints points;
  private final SplitConfig split;

  /**
   * Prepares the choice for one network.
   *
   * @param network the model whose stages are measured
   * @param cutAt sets the indices of the layers with which all stages but the last end
   * @param points layers after which a cut is possible
   * @param split number of stages, and the cost to balance
   */
  public Balancer(
      SplitModel network, Consumer<List<Integer>> cutAt, CutPoints points, SplitConfig split) {
    this.network = network;
    this.cutAt = cutAt;
    this.points = points;
    this.split = split;
  }

  /**
   * Chooses the cuts.
   *
   * @return indices of the layers with which all stages but the last end
   * @throws IllegalArgumentException when the network cannot be cut into that many stages
   */
  public List<Integer> ends() {
    List<Integer> places = points.sensible();
    if (places.size() + 1 < split.stages()) {
      throw points.tooFew(split.stages());
    }
    cutAt.accept(places);
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
