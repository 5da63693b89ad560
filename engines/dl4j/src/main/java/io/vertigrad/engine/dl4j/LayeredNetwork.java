package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Block;
import io.vertigrad.engine.dl4j.kernels.Kernels;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.layers.convolution.ConvolutionLayer;
import org.deeplearning4j.nn.layers.convolution.subsampling.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A network that is a chain of layers. */
final class LayeredNetwork implements Network {

  private final MultiLayerNetwork network;
  private final boolean trainsAsItPredicts;

  private LayeredNetwork(MultiLayerNetwork network) {
    this.network = network;
    this.trainsAsItPredicts =
        Arrays.stream(network.getLayers()).allMatch(Kernels::trainsAsItPredicts);
  }

  /** Returns the network unchanged, for inspection. */
  static LayeredNetwork plain(MultiLayerNetwork network) {
    return new LayeredNetwork(network);
  }

  /** Returns the network with the fast layers installed, for training. */
  static LayeredNetwork training(MultiLayerNetwork network) {
    network.getLayerWiseConfigurations().setTrainingWorkspaceMode(WorkspaceMode.ENABLED);
    network.getLayerWiseConfigurations().setInferenceWorkspaceMode(WorkspaceMode.ENABLED);
    network.setCacheMode(CacheMode.DEVICE);
    Kernels.install(network);
    network.initGradientsView();
    return new LayeredNetwork(network);
  }

  @Override
  public INDArray parameters() {
    return network.params();
  }

  @Override
  public INDArray gradients() {
    return network.getGradientsViewArray();
  }

  @Override
  public List<Parameter> arrays() {
    List<Parameter> arrays = new ArrayList<>();
    for (Layer layer : network.getLayers()) {
      String name = name(layer);
      layer
          .paramTable()
          .forEach(
              (key, values) ->
                  arrays.add(new Parameter(name + "." + key, values, kind(layer, key))));
    }
    return arrays;
  }

  /** Returns the layer's name, or one made of its index. */
  static String name(Layer layer) {
    String given = layer.conf().getLayer().getLayerName();
    return given == null ? "layer" + layer.getIndex() : given;
  }

  static Block.Kind kind(org.deeplearning4j.nn.api.Trainable layer, String key) {
    return layer.updaterDivideByMinibatch(key) ? Block.Kind.TRAINABLE : Block.Kind.STATISTIC;
  }

  @Override
  public boolean takesImages() {
    Layer first = network.getLayer(0);
    boolean image = first instanceof ConvolutionLayer || first instanceof SubsamplingLayer;
    return image && network.getLayerWiseConfigurations().getInputPreProcess(0) == null;
  }

  @Override
  public double gradient(INDArray features, INDArray labels) {
    network.setInput(features);
    network.setLabels(labels);
    network.computeGradientAndScore();
    return network.score();
  }

  @Override
  public void onLayerGradientFinal(Consumer<String> listener) {
    for (Layer layer : network.getLayers()) {
      String name = name(layer);
      Kernels.onGradientFinal(layer, () -> listener.accept(name));
    }
  }

  @Override
  public int correct() {
    return Kernels.correct(network.getOutputLayer());
  }

  @Override
  public Optional<float[]> gradientOutputs() {
    return trainsAsItPredicts ? Kernels.outputs(network.getOutputLayer()) : Optional.empty();
  }

  @Override
  public INDArray output(INDArray features, MemoryWorkspace workspace) {
    return network.output(features, false, workspace);
  }

  @Override
  public void save(Path file) throws IOException {
    ModelSerializer.writeModel(network, file.toFile(), false);
  }

  @Override
  public void exportOnnx(Path file, List<Integer> inputShape, List<Integer> sample, int classes)
      throws IOException {
    new OnnxExport(Outline.of(network), arrays()).write(file, inputShape, sample, classes);
  }
}
