package io.vertigrad.engine.dl4j.models;

import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.engine.dl4j.ModelFactory;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.graph.ComputationGraph;

/**
 * Builds {@code resnet20}: the residual network for CIFAR-10 of He, Zhang, Ren and Sun, "Deep
 * Residual Learning for Image Recognition" (2016), section 4.2: three stages of three blocks with
 * 16, 32 and 64 channels.
 *
 * <p>Option {@code shortcut}: where the width changes, {@code B} (default) projects with a 1 x 1
 * convolution and batch norm (272,474 trainable parameters); {@code A} takes every second pixel and
 * pads with zero channels (269,722), as the paper does on CIFAR-10. Option {@code initialization}:
 * {@code pytorch} (default) or {@code glorot}.
 */
public final class ResNet20Factory implements ModelFactory {

  private static final String SHORTCUT = "shortcut";
  private static final int[] CHANNELS = {16, 32, 64};
  private static final int BLOCKS = 3;

  @Override
  public String name() {
    return "resnet20";
  }

  @Override
  public Set<String> options() {
    return Set.of(SHORTCUT, Initialization.KEY);
  }

  @Override
  public void check(Settings options) {
    options.choice(SHORTCUT, "B", "A", "B");
    Initialization.check(options);
  }

  @Override
  public NeuralNetwork network(ModelConfig config) {
    boolean projects = Options.choice(config, SHORTCUT, "B", "A", "B").equals("B");
    Layers.images(config, 4);
    GraphBuilder graph = Layers.defaults(config.seed()).graphBuilder().addInputs("in");
    ResidualBlocks blocks = new ResidualBlocks(graph, projects);
    String last = blocks.stem("in", config.inputShape().get(0), CHANNELS[0]);
    for (int stage = 0; stage < CHANNELS.length; stage++) {
      for (int block = 0; block < BLOCKS; block++) {
        boolean narrows = stage > 0 && block == 0;
        int channelsIn = narrows ? CHANNELS[stage - 1] : CHANNELS[stage];
        last = blocks.block("s" + stage + "b" + block, last, channelsIn, CHANNELS[stage]);
      }
    }
    graph.addLayer("gap", new GlobalPoolingLayer.Builder(PoolingType.AVG).build(), last);
    graph.addLayer("fc", Layers.output("fc", config, CHANNELS[2]), "gap").setOutputs("fc");
    ComputationGraph network = new ComputationGraph(graph.build());
    network.init();
    Initialization.apply(config, network.paramTable());
    return network;
  }
}
