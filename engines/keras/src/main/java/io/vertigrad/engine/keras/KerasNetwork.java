package io.vertigrad.engine.keras;

import io.vertigrad.compute.Loss;
import io.vertigrad.compute.settings.JsonText;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.deeplearning4j.nn.conf.CNN2DFormat;
import org.deeplearning4j.nn.conf.CacheMode;
import org.deeplearning4j.nn.conf.ComputationGraphConfiguration.GraphBuilder;
import org.deeplearning4j.nn.conf.ConvolutionMode;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.deeplearning4j.nn.conf.graph.ElementWiseVertex;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ActivationLayer;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.DropoutLayer;
import org.deeplearning4j.nn.conf.layers.GlobalPoolingLayer;
import org.deeplearning4j.nn.conf.layers.Layer;
import org.deeplearning4j.nn.conf.layers.LossLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.conf.layers.ZeroPaddingLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.IActivation;
import org.nd4j.linalg.activations.impl.ActivationELU;
import org.nd4j.linalg.activations.impl.ActivationLReLU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Converts a Keras model into a graph of DL4J's stock layers. Its images are {@code [channels,
 * height, width]} in either case.
 *
 * <p>Keras stores the kernel of a convolution as {@code [height, width, inputs, outputs]} for both
 * orders of images, DL4J as {@code [outputs, inputs, height, width]}. The rows of a dense layer
 * after a flattened image follow the order of the image; they are reordered to channels first.
 */
final class KerasNetwork {

  private static final int MOST_UNITS = 1 << 24;
  private static final int MOST_KERNEL = 1024;
  private static final int MOST_SIDE = 1 << 16;
  private static final String INPUT = "InputLayer";
  private static final String SOFTMAX = "softmax";
  private static final String SIGMOID = "sigmoid";
  private static final String LINEAR = "linear";

  /** Activations that Keras and DL4J compute the same way. */
  private static final Map<String, Activation> ACTIVATIONS =
      Map.of(
          LINEAR,
          Activation.IDENTITY,
          "relu",
          Activation.RELU,
          "relu6",
          Activation.RELU6,
          SOFTMAX,
          Activation.SOFTMAX,
          SIGMOID,
          Activation.SIGMOID,
          "tanh",
          Activation.TANH,
          "elu",
          Activation.ELU,
          "softplus",
          Activation.SOFTPLUS,
          "softsign",
          Activation.SOFTSIGN,
          "swish",
          Activation.SWISH);

  /** The order in which Keras flattened an image into a row. */
  private enum Row {
    NONE,
    CHANNELS_FIRST,
    CHANNELS_LAST
  }

  /**
   * The output of a layer for one sample.
   *
   * @param vertex of the graph that computes it
   * @param image whether it is an image in DL4J
   * @param row whether it is a row in Keras, and how the image was flattened
   */
  private record Output(
      String vertex, int channels, int height, int width, boolean image, Row row) {

    static Output row(String vertex, int units) {
      return new Output(vertex, units, 1, 1, false, Row.NONE);
    }

    Output of(String other) {
      return new Output(other, channels, height, width, image, row);
    }

    boolean isRow() {
      return !image || row != Row.NONE;
    }

    int units() {
      return Math.multiplyExact(Math.multiplyExact(channels, height), width);
    }
  }

  /** Copies the parameters of one layer into the network that was built. */
  private interface Parameters {
    void write(ComputationGraph network);
  }

  private final KerasFile file;
  private final Loss loss;

  /** The activation in Keras that belongs to the loss. */
  private final String ending;

  private final Map<String, KerasLayer> layers = new LinkedHashMap<>();
  private final Map<String, Output> outputs = new HashMap<>();
  private final List<Parameters> parameters = new ArrayList<>();
  private boolean channelsFirst;
  private GraphBuilder graph;

  /** The dense layer that becomes the output layer with the loss; null if there is none. */
  private KerasLayer head;

  /**
   * Prepares the conversion of a model.
   *
   * @param loss that the model is trained by
   */
  KerasNetwork(KerasFile file, Loss loss) {
    this.file = file;
    this.loss = loss;
    this.ending =
        switch (loss) {
          case CROSS_ENTROPY -> SOFTMAX;
          case BINARY_CROSS_ENTROPY -> SIGMOID;
          case MEAN_SQUARED_ERROR -> LINEAR;
        };
  }

  /** Builds the network with the file's parameters. */
  ComputationGraph build(long seed) {
    String last = readLayers();
    graph =
        new NeuralNetConfiguration.Builder()
            .seed(seed)
            .dataType(DataType.FLOAT)
            .updater(new Sgd())
            .trainingWorkspaceMode(WorkspaceMode.ENABLED)
            .inferenceWorkspaceMode(WorkspaceMode.ENABLED)
            .cacheMode(CacheMode.DEVICE)
            .graphBuilder();
    channelsFirst = layers.values().stream().anyMatch(this::hasChannelsFirst);
    head = head(layers.get(last));
    for (KerasLayer layer : layers.values()) {
      outputs.put(layer.name(), added(layer));
    }
    String out = finished(layers.get(last), outputs.get(last));
    ComputationGraph network = new ComputationGraph(graph.setOutputs(out).build());
    network.init();
    parameters.forEach(one -> one.write(network));
    return network;
  }

  /** Fills {@link #layers} in the order of computation, and returns the name of the last. */
  private String readLayers() {
    String kind = String.valueOf(file.model().getValue("class_name"));
    boolean chain = kind.equals("Sequential");
    if (!chain && !kind.equals("Functional") && !kind.equals("Model")) {
      throw file.refused(
          "is a %s, expected a Sequential or a Functional model".formatted(JsonText.shown(kind)));
    }
    Object config = file.model().getValue("config");
    // Before version 2.2.3 the config of a Sequential model was only the list.
    Object list = config instanceof JsonObject object ? object.getValue("layers") : config;
    if (!(list instanceof JsonArray all) || all.isEmpty()) {
      throw file.refused("describes no layers, expected at least one");
    }
    String before = null;
    for (Object one : all) {
      if (!(one instanceof JsonObject json)) {
        throw file.refused("describes a layer as %s, expected an object".formatted(one));
      }
      KerasLayer layer = KerasLayer.of(file, json, before);
      if (chain && before == null && !layer.kind().equals(INPUT)) {
        before = layer.name() + "_input";
        layers.put(before, new KerasLayer(file, INPUT, before, layer.config(), List.of()));
        layer = KerasLayer.of(file, json, before);
      }
      if (layers.put(layer.name(), layer) != null) {
        throw layer.refused("there are two layers of this name");
      }
      before = layer.name();
    }
    return chain ? before : onlyOutput((JsonObject) config);
  }

  private String onlyOutput(JsonObject config) {
    only(config, "input_layers");
    return only(config, "output_layers");
  }

  /**
   * Returns the name in {@code [["name", 0, 0]]}, or in the shorter form without the outer list.
   */
  private String only(JsonObject config, String key) {
    Object value = config.getValue(key);
    if (value instanceof JsonArray places && places.size() == 1) {
      value = places.getValue(0);
    }
    if (value instanceof JsonArray place
        && place.size() == 3
        && place.getValue(0) instanceof String name
        && layers.containsKey(name)) {
      return name;
    }
    throw file.refused(
        "%s is %s, expected one layer: models have one input and one output here"
            .formatted(key, JsonText.shown(String.valueOf(config.getValue(key)))));
  }

  private boolean hasChannelsFirst(KerasLayer layer) {
    return layer.kind().endsWith("2D") && layer.channelsFirst();
  }

  /**
   * Returns the dense layer that ends the model, followed by at most the activation of the loss;
   * null if there is none. Without that activation its outputs count as scores to which the loss
   * applies it.
   */
  private KerasLayer head(KerasLayer last) {
    KerasLayer found = last;
    if (isEnding(last)
        && last.inputs().size() == 1
        && layers.values().stream()
                .filter(layer -> layer.inputs().contains(last.inputs().get(0)))
                .count()
            == 1) {
      found = layers.get(last.inputs().get(0));
    }
    boolean dense = found != null && found.kind().equals("Dense");
    if (!dense) {
      return null;
    }
    String activation = found.text("activation", LINEAR);
    boolean fits = activation.equals(LINEAR) || activation.equals(ending) && found == last;
    if (!fits && found == last) {
      throw found.refused(
          "the model ends with activation %s, expected %snone for model.loss %s"
              .formatted(
                  JsonText.shown(activation),
                  ending.equals(LINEAR) ? "" : ending + " or ",
                  loss.key()));
    }
    return fits ? found : null;
  }

  /** Returns true for a layer that only computes the activation of the loss. */
  private boolean isEnding(KerasLayer layer) {
    return ending.equals(SOFTMAX) && layer.kind().equals("Softmax")
        || layer.kind().equals("Activation") && layer.text("activation", "").equals(ending);
  }

  private static boolean isSoftmax(KerasLayer layer) {
    return layer.kind().equals("Softmax")
        || layer.kind().equals("Activation") && layer.text("activation", "").equals(SOFTMAX);
  }

  /** Adds the output layer with the loss and returns its name. */
  private String finished(KerasLayer last, Output output) {
    if (!output.isRow()) {
      throw last.refused("the model ends with an image, expected one row of outputs");
    }
    if (head != null) {
      return output.vertex();
    }
    if (isSoftmax(last) && loss != Loss.CROSS_ENTROPY) {
      throw last.refused(
          "the model ends with a softmax, expected none for model.loss " + loss.key());
    }
    String name = isEnding(last) ? last.name() : unused(last.name() + "_loss");
    graph.addLayer(
        name,
        new LossLayer.Builder(function()).activation(ACTIVATIONS.get(ending)).build(),
        output.vertex());
    return name;
  }

  private LossFunction function() {
    return switch (loss) {
      case CROSS_ENTROPY -> LossFunction.MCXENT;
      case BINARY_CROSS_ENTROPY -> LossFunction.XENT;
      case MEAN_SQUARED_ERROR -> LossFunction.MSE;
    };
  }

  private Output added(KerasLayer layer) {
    return switch (layer.kind()) {
      case INPUT -> input(layer);
      case "Dense" -> dense(layer, one(layer));
      case "Conv2D" -> convolution(layer, image(layer));
      case "MaxPooling2D" -> pooling(layer, image(layer), PoolingType.MAX);
      case "AveragePooling2D" -> pooling(layer, image(layer), PoolingType.AVG);
      case "GlobalMaxPooling2D" -> global(layer, image(layer), PoolingType.MAX);
      case "GlobalAveragePooling2D" -> global(layer, image(layer), PoolingType.AVG);
      case "ZeroPadding2D" -> padding(layer, image(layer));
      case "BatchNormalization" -> batchNorm(layer, one(layer));
      case "Flatten" -> flat(layer, one(layer));
      case "Add" -> sum(layer);
      case "Concatenate" -> merged(layer);
      case "Dropout" ->
          layer(
              layer.name(),
              new DropoutLayer.Builder(1 - layer.number("rate", 0, 0, 0.999)).build(),
              one(layer));
      case "Activation" -> activated(layer, activation(layer), one(layer));
      case "ReLU" -> activated(layer, rectifier(layer), one(layer));
      case "LeakyReLU" ->
          activated(layer, new ActivationLReLU(layer.number("alpha", 0.3, 0, 1)), one(layer));
      case "ELU" ->
          activated(layer, new ActivationELU(layer.number("alpha", 1, 0, 1e6)), one(layer));
      case "Softmax" -> activated(layer, Activation.SOFTMAX.getActivationFunction(), one(layer));
      default ->
          throw layer.refused(
              "is not known here, expected Dense, Conv2D, MaxPooling2D, AveragePooling2D,"
                  + " GlobalMaxPooling2D, GlobalAveragePooling2D, ZeroPadding2D,"
                  + " BatchNormalization, Flatten, Dropout, Activation, ReLU, LeakyReLU, ELU,"
                  + " Softmax, Add or Concatenate");
    };
  }

  private Output input(KerasLayer layer) {
    if (!(layer.config().getValue("batch_input_shape") instanceof JsonArray shape)
        || shape.size() < 2
        || shape.size() > 4) {
      throw layer.refused(
          "batch_input_shape is %s, expected [null, height, width, channels] or [null, inputs]"
              .formatted(
                  JsonText.shown(String.valueOf(layer.config().getValue("batch_input_shape")))));
    }
    int[] sizes = new int[shape.size() - 1];
    for (int i = 0; i < sizes.length; i++) {
      if (!(shape.getValue(i + 1) instanceof Integer size) || size < 1 || size > MOST_SIDE) {
        throw layer.refused(
            "batch_input_shape is %s, expected whole numbers from 1 to %s behind the first"
                .formatted(JsonText.shown(shape.encode()), MOST_SIDE));
      }
      sizes[i] = size;
    }
    if (!graphHasInput()) {
      graph.addInputs(layer.name());
    } else {
      throw layer.refused("is a second input, expected one");
    }
    if (sizes.length == 1) {
      graph.setInputTypes(InputType.feedForward(sizes[0]));
      return Output.row(layer.name(), sizes[0]);
    }
    int channels = sizes.length == 2 ? 1 : sizes[channelsFirst ? 0 : 2];
    int height = sizes[sizes.length == 3 && channelsFirst ? 1 : 0];
    int width = sizes[sizes.length == 3 && channelsFirst ? 2 : 1];
    graph.setInputTypes(InputType.convolutional(height, width, channels, CNN2DFormat.NCHW));
    return new Output(layer.name(), channels, height, width, true, Row.NONE);
  }

  private boolean graphHasInput() {
    return outputs.values().stream()
        .anyMatch(
            output ->
                layers.get(output.vertex()) != null
                    && layers.get(output.vertex()).kind().equals(INPUT));
  }

  private Output one(KerasLayer layer) {
    if (layer.inputs().size() != 1) {
      throw layer.refused("reads %s layers, expected 1".formatted(layer.inputs().size()));
    }
    return read(layer, layer.inputs().get(0));
  }

  private Output read(KerasLayer layer, String name) {
    Output found = outputs.get(name);
    if (found == null) {
      throw layer.refused(
          "reads %s, expected a layer that stands before it".formatted(JsonText.shown(name)));
    }
    return found;
  }

  private Output image(KerasLayer layer) {
    Output input = one(layer);
    if (input.isRow()) {
      throw layer.refused("reads a row of %s, expected an image".formatted(input.units()));
    }
    if (layer.channelsFirst() != channelsFirst) {
      throw layer.refused("data_format differs from that of other layers, expected one order");
    }
    return input;
  }

  /** Returns an unused name, based on this one, for a vertex without a layer in Keras. */
  private String unused(String name) {
    return layers.containsKey(name) ? unused(name + "_") : name;
  }

  private Output layer(String name, Layer layer, Output input) {
    graph.addLayer(name, layer, input.vertex());
    return input.of(name);
  }

  private Output activated(KerasLayer layer, IActivation activation, Output input) {
    boolean ofHead = head != null && layer.inputs().get(0).equals(head.name()) && isEnding(layer);
    boolean ofLoss = isEnding(layer) && !isRead(layer);
    if (ofHead || ofLoss) {
      // The output layer computes this activation.
      return input;
    }
    if (isSoftmax(layer) && !input.isRow()) {
      throw layer.refused("is a softmax over an image, expected over a row");
    }
    return layer(layer.name(), new ActivationLayer.Builder().activation(activation).build(), input);
  }

  private boolean isRead(KerasLayer layer) {
    return layers.values().stream().anyMatch(other -> other.inputs().contains(layer.name()));
  }

  private static IActivation activation(KerasLayer layer) {
    String name =
        layer.choice("activation", LINEAR, ACTIVATIONS.keySet().stream().sorted().toList());
    return ACTIVATIONS.get(name).getActivationFunction();
  }

  private static IActivation rectifier(KerasLayer layer) {
    Object most = layer.config().getValue("max_value");
    double slope = layer.number("negative_slope", 0, 0, 1);
    layer.number("threshold", 0, 0, 0);
    if (most == null) {
      return slope == 0 ? Activation.RELU.getActivationFunction() : new ActivationLReLU(slope);
    }
    if (slope == 0 && most instanceof Number number && number.doubleValue() == 6) {
      return Activation.RELU6.getActivationFunction();
    }
    throw layer.refused(
        "max_value is %s with negative_slope %s, expected none, or 6 without a slope"
            .formatted(JsonText.shown(String.valueOf(most)), slope));
  }

  private Output dense(KerasLayer layer, Output input) {
    if (!input.isRow()) {
      throw layer.refused("reads an image, expected a row: put a Flatten before it");
    }
    int units = layer.integer("units", 1, MOST_UNITS);
    boolean bias = layer.flag("use_bias", true);
    INDArray kernel = rows(layer.weight("kernel", input.units(), units), input, units);
    float[] offsets = bias ? layer.weight("bias", units) : null;
    if (layer == head) {
      graph.addLayer(
          layer.name(),
          new OutputLayer.Builder(function())
              .nOut(units)
              .hasBias(bias)
              .activation(ACTIVATIONS.get(ending))
              .build(),
          input.vertex());
    } else {
      graph.addLayer(
          layer.name(),
          new DenseLayer.Builder().nOut(units).hasBias(bias).activation(activation(layer)).build(),
          input.vertex());
    }
    keep(layer.name(), kernel, offsets);
    return Output.row(layer.name(), units);
  }

  /**
   * Returns the weights of a dense layer with the rows in the order in which DL4J flattens an
   * image.
   */
  private static INDArray rows(float[] kernel, Output input, int units) {
    if (input.row() != Row.CHANNELS_LAST) {
      return Nd4j.createFromArray(kernel).reshape('c', input.units(), units);
    }
    return Nd4j.createFromArray(kernel)
        .reshape('c', input.height(), input.width(), input.channels(), units)
        .permute(2, 0, 1, 3)
        .dup('c')
        .reshape('c', input.units(), units);
  }

  private Output convolution(KerasLayer layer, Output input) {
    int filters = layer.integer("filters", 1, MOST_UNITS);
    int[] kernel = layer.pair("kernel_size", 1, 1, MOST_KERNEL);
    int[] stride = layer.pair("strides", 1, 1, MOST_KERNEL);
    int[] dilation = layer.pair("dilation_rate", 1, 1, MOST_KERNEL);
    boolean bias = layer.flag("use_bias", true);
    if (layer.config().getValue("groups", 1) instanceof Integer groups && groups != 1) {
      throw layer.refused("groups is %s, expected 1".formatted(groups));
    }
    boolean same = isSame(layer);
    INDArray weights =
        Nd4j.createFromArray(
                layer.weight("kernel", kernel[0], kernel[1], input.channels(), filters))
            .reshape('c', kernel[0], kernel[1], input.channels(), filters)
            .permute(3, 2, 0, 1);
    graph.addLayer(
        layer.name(),
        new ConvolutionLayer.Builder(kernel)
            .stride(stride)
            .dilation(dilation)
            .convolutionMode(same ? ConvolutionMode.Same : ConvolutionMode.Truncate)
            .nOut(filters)
            .hasBias(bias)
            .activation(Activation.IDENTITY)
            .build(),
        input.vertex());
    keep(layer.name(), weights, bias ? layer.weight("bias", filters) : null);
    Output output =
        new Output(
            layer.name(),
            filters,
            side(layer, input.height(), kernel[0], stride[0], dilation[0], same),
            side(layer, input.width(), kernel[1], stride[1], dilation[1], same),
            true,
            Row.NONE);
    String activation = layer.text("activation", LINEAR);
    if (activation.equals(LINEAR)) {
      return output;
    }
    if (activation.equals(SOFTMAX)) {
      throw layer.refused("has a softmax over an image, expected over a row");
    }
    return layer(
        unused(layer.name() + "_activation"),
        new ActivationLayer.Builder().activation(activation(layer)).build(),
        output);
  }

  private static boolean isSame(KerasLayer layer) {
    return layer.choice("padding", "valid", List.of("valid", "same")).equals("same");
  }

  private static int side(
      KerasLayer layer, int size, int kernel, int stride, int dilation, boolean same) {
    int reach = (kernel - 1) * dilation + 1;
    int places = same ? size : size - reach + 1;
    if (places < 1) {
      throw layer.refused("takes %s pixels, its input has %s".formatted(reach, size));
    }
    return (places + stride - 1) / stride;
  }

  private Output pooling(KerasLayer layer, Output input, PoolingType type) {
    int[] size = layer.pair("pool_size", 2, 1, MOST_KERNEL);
    int[] stride =
        layer.config().getValue("strides") == null
            ? size
            : layer.pair("strides", 1, 1, MOST_KERNEL);
    boolean same = isSame(layer);
    graph.addLayer(
        layer.name(),
        new SubsamplingLayer.Builder(type)
            .kernelSize(size)
            .stride(stride)
            .convolutionMode(same ? ConvolutionMode.Same : ConvolutionMode.Truncate)
            .build(),
        input.vertex());
    return new Output(
        layer.name(),
        input.channels(),
        side(layer, input.height(), size[0], stride[0], 1, same),
        side(layer, input.width(), size[1], stride[1], 1, same),
        true,
        Row.NONE);
  }

  private Output global(KerasLayer layer, Output input, PoolingType type) {
    if (layer.flag("keepdims", false)) {
      throw layer.refused("keepdims is true, expected false");
    }
    graph.addLayer(layer.name(), new GlobalPoolingLayer.Builder(type).build(), input.vertex());
    return Output.row(layer.name(), input.channels());
  }

  private Output padding(KerasLayer layer, Output input) {
    int[] edges = new int[4];
    if (layer.config().getValue("padding") instanceof JsonArray sides
        && sides.size() == 2
        && sides.getValue(0) instanceof JsonArray rows
        && sides.getValue(1) instanceof JsonArray columns
        && rows.size() == 2
        && columns.size() == 2) {
      for (int i = 0; i < edges.length; i++) {
        Object edge = (i < 2 ? rows : columns).getValue(i % 2);
        if (!(edge instanceof Integer size) || size < 0 || size > MOST_KERNEL) {
          throw layer.refused(
              "padding holds %s, expected 0 to %s"
                  .formatted(JsonText.shown(String.valueOf(edge)), MOST_KERNEL));
        }
        edges[i] = size;
      }
    } else {
      int[] both = layer.pair("padding", 1, 0, MOST_KERNEL);
      edges = new int[] {both[0], both[0], both[1], both[1]};
    }
    graph.addLayer(layer.name(), new ZeroPaddingLayer.Builder(edges).build(), input.vertex());
    return new Output(
        layer.name(),
        input.channels(),
        input.height() + edges[0] + edges[1],
        input.width() + edges[2] + edges[3],
        true,
        Row.NONE);
  }

  private Output batchNorm(KerasLayer layer, Output input) {
    if (input.row() != Row.NONE) {
      throw layer.refused("reads a flattened image, expected the image: put it before the Flatten");
    }
    Object axis = layer.config().getValue("axis");
    Object only = axis instanceof JsonArray list && list.size() == 1 ? list.getValue(0) : axis;
    int expected = input.image() && !channelsFirst ? 3 : 1;
    boolean last = Integer.valueOf(-1).equals(only) && expected == (input.image() ? 3 : 1);
    if (only != null && !last && !Integer.valueOf(expected).equals(only)) {
      throw layer.refused(
          "axis is %s, expected %s, the channels"
              .formatted(JsonText.shown(String.valueOf(axis)), expected));
    }
    int units = input.channels();
    float[] scales = layer.flag("scale", true) ? layer.weight("gamma", units) : filled(units, 1);
    float[] shifts = layer.flag("center", true) ? layer.weight("beta", units) : filled(units, 0);
    float[] means = layer.weight("moving_mean", units);
    float[] variances = layer.weight("moving_variance", units);
    for (int i = 0; i < units; i++) {
      if (variances[i] < 0) {
        throw layer.refused(
            "moving_variance %s is %s, expected at least 0".formatted(i, variances[i]));
      }
    }
    graph.addLayer(
        layer.name(),
        new BatchNormalization.Builder()
            .nIn(units)
            .nOut(units)
            .decay(layer.number("momentum", 0.99, 0, 1))
            .eps(layer.number("epsilon", 0.001, 1e-12, 1))
            .useLogStd(false)
            .build(),
        input.vertex());
    parameters.add(
        network -> {
          write(network, layer.name(), "gamma", Nd4j.createFromArray(scales));
          write(network, layer.name(), "beta", Nd4j.createFromArray(shifts));
          write(network, layer.name(), "mean", Nd4j.createFromArray(means));
          write(network, layer.name(), "var", Nd4j.createFromArray(variances));
        });
    return input.of(layer.name());
  }

  private static float[] filled(int length, float value) {
    float[] values = new float[length];
    java.util.Arrays.fill(values, value);
    return values;
  }

  /** Adds no layer: the layers that read this output take the image as a row. */
  private Output flat(KerasLayer layer, Output input) {
    if (input.isRow()) {
      return input;
    }
    // With channels first, Keras transposes the image unless data_format is channels_last.
    boolean turned = channelsFirst == layer.channelsFirst();
    Row row = turned ? Row.CHANNELS_LAST : Row.CHANNELS_FIRST;
    return new Output(input.vertex(), input.channels(), input.height(), input.width(), true, row);
  }

  private Output sum(KerasLayer layer) {
    Output first = read(layer, layer.inputs().isEmpty() ? "" : layer.inputs().get(0));
    List<String> vertices = new ArrayList<>();
    for (String name : layer.inputs()) {
      Output input = read(layer, name);
      if (!input.of("").equals(first.of(""))) {
        throw layer.refused("adds outputs of different shapes");
      }
      vertices.add(input.vertex());
    }
    graph.addVertex(
        layer.name(),
        new ElementWiseVertex(ElementWiseVertex.Op.Add),
        vertices.toArray(String[]::new));
    return first.of(layer.name());
  }

  private Output merged(KerasLayer layer) {
    Output first = read(layer, layer.inputs().isEmpty() ? "" : layer.inputs().get(0));
    int axis = layer.integer("axis", -1, 3);
    boolean last = axis == -1 && (!channelsFirst || !first.image());
    if (!last && axis != (first.image() && !channelsFirst ? 3 : 1)) {
      throw layer.refused("axis is %s, expected that of the channels".formatted(axis));
    }
    List<String> vertices = new ArrayList<>();
    int channels = 0;
    for (String name : layer.inputs()) {
      Output input = read(layer, name);
      boolean fits =
          input.image() == first.image()
              && input.row() == Row.NONE
              && input.height() == first.height()
              && input.width() == first.width();
      if (!fits) {
        throw layer.refused("joins outputs of different sizes, or a flattened image");
      }
      channels = Math.addExact(channels, input.channels());
      vertices.add(input.vertex());
    }
    graph.addVertex(layer.name(), new MergeVertex(), vertices.toArray(String[]::new));
    return new Output(
        layer.name(), channels, first.height(), first.width(), first.image(), Row.NONE);
  }

  private void keep(String name, INDArray weights, float[] bias) {
    parameters.add(
        network -> {
          write(network, name, "W", weights);
          if (bias != null) {
            write(network, name, "b", Nd4j.createFromArray(bias));
          }
        });
  }

  private static void write(ComputationGraph network, String layer, String key, INDArray values) {
    INDArray parameter = network.getLayer(layer).getParam(key);
    parameter.assign(values.rank() == 1 ? values.reshape(parameter.shape()) : values);
  }
}
