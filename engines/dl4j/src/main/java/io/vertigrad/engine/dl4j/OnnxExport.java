package io.vertigrad.engine.dl4j;

import io.vertigrad.engine.dl4j.OnnxGraph.Operator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.InputPreProcessor;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.GraphVertex;
import org.deeplearning4j.nn.conf.graph.LayerVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.graph.ScaleVertex;
import org.deeplearning4j.nn.conf.graph.SubsetVertex;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.FeedForwardLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.preprocessor.CnnToFeedForwardPreProcessor;
import org.deeplearning4j.nn.conf.preprocessor.FeedForwardToCnnPreProcessor;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationIdentity;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.activations.impl.ActivationSigmoid;
import org.nd4j.linalg.activations.impl.ActivationSoftmax;
import org.nd4j.linalg.activations.impl.ActivationTanH;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Writes a network in the format ONNX: its computation in inference mode, from samples as in the
 * data set to one probability for each class.
 *
 * <p>It supports the layers of the built-in networks and similar ones; it refuses any other layer
 * by name.
 */
final class OnnxExport {

  private static final int[] HEIGHT_AND_WIDTH = {2, 3};
  private static final String INPUT = "input";
  private static final String KNOWN =
      "convolution, pooling, dense, batch-norm, activation, dropout and output layers, and sums,"
          + " scales, subsets and merges of channels";
  private static final String OUTPUT = "probabilities";

  private final Outline outline;
  private final Map<String, INDArray> arrays = new HashMap<>();
  private final OnnxGraph graph = new OnnxGraph("vertigrad");

  /** Name of each layer's output, by the layer's name. */
  private final Map<String, String> outputs = new HashMap<>();

  /**
   * Prepares the export of one network.
   *
   * @param outline structure of the network
   * @param parameters arrays of the network
   */
  OnnxExport(Outline outline, List<Network.Parameter> parameters) {
    this.outline = outline;
    parameters.forEach(parameter -> arrays.put(parameter.name(), parameter.values()));
  }

  /**
   * Writes the file.
   *
   * @param inputShape one sample's dimensions in the data set
   * @param sample one sample's dimensions as the network takes them
   * @param classes number of outputs
   * @throws IllegalArgumentException naming the first layer that cannot be written
   */
  void write(Path file, List<Integer> inputShape, List<Integer> sample, int classes)
      throws IOException {
    String input = graph.input(INPUT, inputShape);
    boolean row = sample.size() == 1 && inputShape.size() > 1;
    outputs.put(outline.input(), row ? flattened(INPUT + "-row", input) : input);
    for (String name : outline.order()) {
      List<String> inputs = outline.inputsOf(name).stream().map(outputs::get).toList();
      outputs.put(name, vertex(name, outline.graph().getVertices().get(name), inputs));
    }
    String last = outline.graph().getNetworkOutputs().get(0);
    graph.add(OUTPUT, new Operator("Identity", outputs.get(last)));
    graph.output(OUTPUT, List.of(classes));
    Files.write(file, graph.toBytes());
  }

  private String vertex(String name, GraphVertex vertex, List<String> inputs) {
    if (vertex instanceof LayerVertex layered) {
      String input = prepared(name, layered.getPreProcessor(), inputs.get(0));
      return layer(name, layered.getLayerConf().getLayer(), input);
    }
    if (vertex instanceof ElementWiseVertex sum && sum.getOp() == ElementWiseVertex.Op.Add) {
      String total = inputs.get(0);
      for (int i = 1; i < inputs.size(); i++) {
        String partial = i == inputs.size() - 1 ? name : name + "-" + i;
        total = graph.add(partial, new Operator("Add", total, inputs.get(i)));
      }
      return total;
    }
    if (vertex instanceof MergeVertex) {
      Operator joined = new Operator("Concat").with("axis", 1L);
      inputs.forEach(joined::reads);
      return graph.add(name, joined);
    }
    if (vertex instanceof ScaleVertex scale) {
      String factor = graph.constant(name + ".factor", filled(1, scale.getScaleFactor()), 1);
      return graph.add(name, new Operator("Mul", inputs.get(0), factor));
    }
    if (vertex instanceof SubsetVertex part) {
      return graph.add(
          name,
          new Operator(
              "Slice",
              inputs.get(0),
              graph.constant(name + ".from", (long) part.getFrom()),
              graph.constant(name + ".to", part.getTo() + 1L),
              graph.constant(name + ".axis", 1L)));
    }
    throw refused(name, "a %s".formatted(vertex.getClass().getSimpleName()));
  }

  private String prepared(String name, InputPreProcessor before, String input) {
    if (before == null) {
      return input;
    }
    if (before instanceof CnnToFeedForwardPreProcessor) {
      return flattened(name + "-row", input);
    }
    if (before instanceof FeedForwardToCnnPreProcessor image) {
      String shape =
          graph.constant(
              name + ".shape",
              -1L,
              image.getNumChannels(),
              image.getInputHeight(),
              image.getInputWidth());
      return graph.add(name + "-image", new Operator("Reshape", input, shape));
    }
    throw refused(name, "preceded by a %s".formatted(before.getClass().getSimpleName()));
  }

  private String layer(String name, Layer layer, String input) {
    if (is(layer, ConvolutionLayer.class)) {
      return convolution(name, (ConvolutionLayer) layer, input);
    }
    if (is(layer, SubsamplingLayer.class)) {
      return pooling(name, (SubsamplingLayer) layer, input);
    }
    if (is(layer, DenseLayer.class)) {
      DenseLayer dense = (DenseLayer) layer;
      if (dense.hasLayerNorm()) {
        throw refused(name, "a dense layer with layer normalization");
      }
      return dense(name, dense, dense.hasBias(), input);
    }
    if (is(layer, OutputLayer.class)) {
      OutputLayer output = (OutputLayer) layer;
      return dense(name, output, output.hasBias(), input);
    }
    if (is(layer, ActivationLayer.class)) {
      return activated(name, ((ActivationLayer) layer).getActivationFn(), input);
    }
    if (is(layer, LossLayer.class)) {
      return activated(name, ((LossLayer) layer).getActivationFn(), input);
    }
    if (is(layer, DropoutLayer.class)) {
      return input;
    }
    if (is(layer, BatchNormalization.class)) {
      return normalised(name, (BatchNormalization) layer, input);
    }
    if (is(layer, GlobalPoolingLayer.class)) {
      return pooled(name, (GlobalPoolingLayer) layer, input);
    }
    throw refused(name, "a %s".formatted(layer.getClass().getSimpleName()));
  }

  /** Compares the class exactly, because a subclass may compute something else. */
  private static boolean is(Layer layer, Class<? extends Layer> type) {
    return layer.getClass() == type;
  }

  private String convolution(String name, ConvolutionLayer layer, String input) {
    requireChannelsFirst(name, layer.getCnn2dDataFormat());
    INDArray weights = array(name, "W");
    Operator conv =
        new Operator("Conv", input, constant(name, "W", weights))
            .with("kernel_shape", layer.getKernelSize())
            .with("strides", layer.getStride())
            .with("dilations", layer.getDilation());
    padded(name, conv, layer.getConvolutionMode(), layer.getPadding());
    if (layer.hasBias()) {
      conv.reads(bias(name));
    }
    String sum = name + "-conv";
    return activated(name, layer.getActivationFn(), graph.add(sum, conv));
  }

  private String pooling(String name, SubsamplingLayer layer, String input) {
    requireChannelsFirst(name, layer.getCnn2dDataFormat());
    Operator pool =
        switch (layer.getPoolingType()) {
          case MAX -> new Operator("MaxPool", input);
          case AVG ->
              new Operator("AveragePool", input)
                  .with("count_include_pad", layer.isAvgPoolIncludePadInDivisor() ? 1L : 0L);
          default -> throw refused(name, "pooling of type " + layer.getPoolingType());
        };
    int[] dilation = layer.getDilation();
    if (dilation[0] != 1 || dilation[1] != 1) {
      throw refused(name, "pooling with dilation");
    }
    pool.with("kernel_shape", layer.getKernelSize()).with("strides", layer.getStride());
    padded(name, pool, layer.getConvolutionMode(), layer.getPadding());
    return graph.add(name, pool);
  }

  private void padded(String name, Operator operator, ConvolutionMode mode, int[] padding) {
    if (mode == ConvolutionMode.Same) {
      operator.with("auto_pad", "SAME_UPPER");
    } else if (mode == ConvolutionMode.Truncate || mode == ConvolutionMode.Strict) {
      operator.with("pads", padding[0], padding[1], padding[0], padding[1]);
    } else {
      throw refused(name, "of convolution mode " + mode);
    }
  }

  private String dense(String name, FeedForwardLayer layer, boolean biased, String input) {
    Operator product = new Operator("Gemm", input, constant(name, "W", array(name, "W")));
    if (biased) {
      product.reads(bias(name));
    }
    return activated(name, layer.getActivationFn(), graph.add(name + "-sum", product));
  }

  private String normalised(String name, BatchNormalization layer, String input) {
    requireChannelsFirst(name, layer.getCnn2DFormat());
    int channels = Math.toIntExact(layer.getNOut());
    String scale =
        layer.isLockGammaBeta()
            ? graph.constant(name + ".gamma", filled(channels, layer.getGamma()), channels)
            : vector(name, "gamma", channels);
    String shift =
        layer.isLockGammaBeta()
            ? graph.constant(name + ".beta", filled(channels, layer.getBeta()), channels)
            : vector(name, "beta", channels);
    String variance =
        layer.isUseLogStd()
            ? graph.constant(name + ".var", variances(array(name, "log10stdev")), channels)
            : vector(name, "var", channels);
    Operator norm =
        new Operator(
                "BatchNormalization", input, scale, shift, vector(name, "mean", channels), variance)
            .with("epsilon", (float) layer.getEps());
    // The layer has an activation by default, but DL4J does not compute it.
    return graph.add(name, norm);
  }

  private String pooled(String name, GlobalPoolingLayer layer, String input) {
    String type =
        switch (layer.getPoolingType()) {
          case MAX -> "GlobalMaxPool";
          case AVG -> "GlobalAveragePool";
          default -> throw refused(name, "global pooling of type " + layer.getPoolingType());
        };
    int[] dimensions = layer.getPoolingDimensions();
    boolean usual = dimensions == null || Arrays.equals(dimensions, HEIGHT_AND_WIDTH);
    if (!usual || !layer.isCollapseDimensions()) {
      throw refused(name, "global pooling of chosen dimensions");
    }
    return flattened(name, graph.add(name + "-pool", new Operator(type, input)));
  }

  private String activated(String name, IActivation function, String input) {
    Operator operator;
    if (function instanceof ActivationReLU rectifier) {
      if (plain(rectifier.getMax())
          && plain(rectifier.getThreshold())
          && plain(rectifier.getNegativeSlope())) {
        operator = new Operator("Relu", input);
      } else {
        throw refused(name, "with the activation " + function);
      }
    } else if (function instanceof ActivationSoftmax) {
      operator = new Operator("Softmax", input).with("axis", 1L);
    } else if (function instanceof ActivationSigmoid) {
      operator = new Operator("Sigmoid", input);
    } else if (function instanceof ActivationTanH) {
      operator = new Operator("Tanh", input);
    } else if (function instanceof ActivationIdentity) {
      operator = new Operator("Identity", input);
    } else {
      throw refused(name, "with the activation " + function);
    }
    return graph.add(name, operator);
  }

  private static boolean plain(Double setting) {
    return setting == null || setting == 0;
  }

  private String flattened(String name, String input) {
    return graph.add(name, new Operator("Flatten", input).with("axis", 1L));
  }

  private String bias(String name) {
    return vector(name, "b", Math.toIntExact(array(name, "b").length()));
  }

  private String vector(String name, String key, int length) {
    return graph.constant(name + "." + key, values(array(name, key)), length);
  }

  private String constant(String name, String key, INDArray array) {
    return graph.constant(name + "." + key, values(array), array.shape());
  }

  private INDArray array(String name, String key) {
    return Objects.requireNonNull(arrays.get(name + "." + key), () -> name + "." + key);
  }

  private static float[] values(INDArray array) {
    return array.dup('c').data().asFloat();
  }

  private static float[] variances(INDArray logarithms) {
    float[] values = values(logarithms);
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) Math.pow(10, 2.0 * values[i]);
    }
    return values;
  }

  private static float[] filled(int length, double value) {
    float[] values = new float[length];
    Arrays.fill(values, (float) value);
    return values;
  }

  private void requireChannelsFirst(String name, CNN2DFormat format) {
    if (format != null && format != CNN2DFormat.NCHW) {
      throw refused(name, "of images in the format " + format);
    }
  }

  private static IllegalArgumentException refused(String name, String what) {
    return new IllegalArgumentException(
        "format onnx: layer %s is %s, which cannot be written; expected %s"
            .formatted(name, what, KNOWN));
  }
}
