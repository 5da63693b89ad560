package io.vertigrad.engine.dl4j;

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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A network that is cut into stages.
 *
 * <p>Keeps the network's initial parameters, but no gradients and no activations, until it is
 * garbage-collected.
 */
final class SplitNetwork implements SplitModel {

  private final Outline outline;
  private final Network whole;
  private final ParameterLayout layout;
  private final Map<String, List<Integer>> shapes;
  private final ModelConfig config;
  private final List<StageSpec> stages = new ArrayList<>();

  private SplitNetwork(NeuralNetwork network, ModelConfig config) {
    outline = Outline.of(network);
    whole =
        network instanceof ComputationGraph graph
            ? GraphNetwork.plain(graph)
            : LayeredNetwork.plain((MultiLayerNetwork) network);
    layout = SegmentTable.of(whole).layout();
    this.config = config;
    List<Integer> sample = InputCheck.sampleShape(whole, config);
    INDArray one = new BatchArrays(1, sample, config.classes()).features();
    shapes = outline.shapes(network, one);
  }

  static SplitNetwork of(ModelConfig config, SplitConfig split) {
    NeuralNetwork network = new ModelLoader(config).network();
    SplitNetwork cut = new SplitNetwork(network, config);
    CutPoints points =
        new CutPoints(
            config.name(), cut.outline.order(), cut.outline::obstacle, cut.layout, cut.shapes);
    List<Integer> ends =
        split.automatic()
            ? new Balancer(cut, cut::cutAt, points, split).ends()
            : points.named(split.cuts());
    cut.cutAt(ends);
    return cut;
  }

  /** Sets the layers that the stages end with; a cut must be possible after each of them. */
  void cutAt(List<Integer> ends) {
    stages.clear();
    int first = 0;
    for (int i = 0; i <= ends.size(); i++) {
      int last = i < ends.size() ? ends.get(i) : outline.order().size() - 1;
      stages.add(spec(i, first, last));
      first = last + 1;
    }
  }

  @Override
  public ParameterLayout layout() {
    return layout;
  }

  @Override
  public List<StageSpec> stages() {
    return List.copyOf(stages);
  }

  @Override
  public StageModel stage(int index) {
    boolean last = index == stages.size() - 1;
    StageSpec spec = stages.get(index);
    List<String> order = outline.order();
    List<String> layers =
        order.subList(order.indexOf(spec.first()), order.indexOf(spec.last()) + 1);
    StageGraph graph = StageGraph.of(outline, layers, index == 0, last, arraysOf(layers));
    return new Dl4jStage(spec, graph, last ? config : null);
  }

  private StageSpec spec(int index, int first, int last) {
    List<String> layers = outline.order().subList(first, last + 1);
    List<Block> blocks =
        layout.blocks().stream()
            .filter(block -> layers.contains(CutPoints.layerOf(block)))
            .toList();
    return new StageSpec(
        index,
        layers.get(0),
        layers.get(layers.size() - 1),
        new ParameterLayout(blocks),
        shapes.get(first == 0 ? outline.input() : outline.order().get(first - 1)),
        shapes.get(outline.order().get(last)));
  }

  private Map<String, INDArray> arraysOf(List<String> layers) {
    Map<String, INDArray> arrays = new LinkedHashMap<>();
    for (Network.Parameter parameter : whole.arrays()) {
      if (layers.contains(parameter.name().substring(0, parameter.name().lastIndexOf('.')))) {
        arrays.put(parameter.name(), parameter.values());
      }
    }
    return arrays;
  }
}
