package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.pipeline.Balancer;
import io.vertigrad.compute.pipeline.CutPoints;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.compute.pipeline.StageSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** A built-in network that is cut into stages. It holds no native memory. */
final class SplitNetwork implements SplitModel {

  private final Network whole;
  private final int threads;
  private final ModelConfig config;
  private final Supplier<Place> places;
  private final List<StageSpec> stages = new ArrayList<>();
  private final List<Network> parts = new ArrayList<>();

  private SplitNetwork(Network whole, ModelConfig config, Supplier<Place> places) {
    this.places = places;
    this.whole = whole;
    this.threads = config.threads();
    this.config = config;
  }

  /**
   * Cuts a network.
   *
   * @param places provides the place where each stage computes
   * @throws IllegalArgumentException when it is no built-in network, or cannot be cut there
   */
  static SplitNetwork of(ModelConfig config, SplitConfig split, Supplier<Place> places) {
    if (!BuiltInNetworks.isLayered(config.name())) {
      throw new IllegalArgumentException(
          "model %s: the engine pytorch cuts into stages only %s"
              .formatted(config.name(), BuiltInNetworks.layered()));
    }
    BuiltInNetworks.requireOnePosition(config);
    SplitNetwork cut = new SplitNetwork(BuiltInNetworks.of(config), config, places);
    Map<String, List<Integer>> shapes = new HashMap<>();
    cut.whole.layers().forEach(layer -> shapes.put(layer.name(), layer.output()));
    List<String> order = cut.whole.layers().stream().map(Network.Layer::name).toList();
    CutPoints points =
        new CutPoints(config.name(), order, cut.whole::obstacle, cut.layout(), shapes);
    cut.cutAt(
        split.automatic()
            ? new Balancer(cut, cut::cutAt, points, split).ends()
            : points.named(split.cuts()));
    return cut;
  }

  private void cutAt(List<Integer> ends) {
    stages.clear();
    parts.clear();
    int first = 0;
    for (int i = 0; i <= ends.size(); i++) {
      int last = i < ends.size() ? ends.get(i) : whole.layers().size() - 1;
      Network part = whole.part(first, last);
      parts.add(part);
      stages.add(
          new StageSpec(
              i,
              whole.layers().get(first).name(),
              whole.layers().get(last).name(),
              layout(part),
              part.input(),
              whole.layers().get(last).output()));
      first = last + 1;
    }
  }

  @Override
  public ParameterLayout layout() {
    return layout(whole);
  }

  private static ParameterLayout layout(Network network) {
    List<Block> blocks = network.arrays().stream().map(Network.Array::block).toList();
    return new ParameterLayout(blocks);
  }

  @Override
  public List<StageSpec> stages() {
    return List.copyOf(stages);
  }

  @Override
  public StageModel stage(int index) {
    LibTorch.computeOn(threads);
    boolean last = index == stages.size() - 1;
    try {
      return new PyTorchStage(
          stages.get(index),
          parts.get(index),
          last ? config : null,
          places.get(),
          config.precision());
    } catch (RuntimeException e) {
      throw MemoryShortage.explained(
          TorchException.of(e),
          "stage %s of model %s".formatted(index, config.name()),
          config.precision(),
          List.of());
    }
  }
}
