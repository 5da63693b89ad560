package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.Block.Kind;
import io.vertigrad.compute.ModelConfig;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * Adds layers to a network one after another. Draws their initial parameters from one generator in
 * that order: weights, then bias.
 *
 * <p>Names, order and numbers are those of the engine {@code dl4j}, so that both engines start with
 * the same bits and exchange the same vector.
 */
final class NetworkBuilder {

  private final String name;
  private final List<Integer> input;
  private final boolean glorot;
  private final SplittableRandom random;
  private final List<Network.Layer> layers = new ArrayList<>();

  /**
   * Creates an empty network.
   *
   * @param glorot uses Keras' initial parameters instead of PyTorch's
   */
  NetworkBuilder(ModelConfig config, boolean glorot) {
    this.name = config.name();
    this.input = config.inputShape();
    this.glorot = glorot;
    this.random = new SplittableRandom(config.seed());
  }

  /** Adds a square convolution that pads with zeros on all sides. */
  void convolution(String layer, String from, Convolution size, boolean biased) {
    List<Integer> shape = shape(from);
    int window = size.kernel() * size.kernel();
    int in = shape.get(0);
    double bound = bound(in * window, size.channels() * window);
    float[] weights = uniform(size.channels() * in * window, bound);
    List<Network.Array> arrays = new ArrayList<>();
    if (biased) {
      arrays.add(bias(layer, size.channels(), bound));
    }
    List<Integer> kernels = List.of(size.channels(), in, size.kernel(), size.kernel());
    arrays.add(new Network.Array(new Block(layer + ".W", kernels, Kind.TRAINABLE), weights));
    Network.Array kernel = arrays.get(arrays.size() - 1);
    String expression =
        "torch.conv2d(%%s, self.%s, %s, [%s, %s], [%s, %s], [1, 1], 1)"
            .formatted(
                kernel.attribute(),
                biased ? "self." + arrays.get(0).attribute() : "None",
                size.stride(),
                size.stride(),
                size.padding(),
                size.padding());
    List<Integer> output =
        List.of(size.channels(), size.positions(shape.get(1)), size.positions(shape.get(2)));
    layers.add(new Network.Layer(layer, List.of(from), expression, arrays, output));
  }

  /**
   * The window of a convolution.
   *
   * @param channels number of output channels
   * @param kernel height and width
   */
  record Convolution(int channels, int kernel, int stride, int padding) {

    int positions(int length) {
      return (length + 2 * padding - kernel) / stride + 1;
    }
  }

  /**
   * Adds a layer that computes {@code x W' + b}; samples are flattened before it.
   *
   * @param rectified adds a ReLU that is part of the layer
   */
  void dense(String layer, String from, int units, boolean rectified) {
    int inputs = shape(from).stream().reduce(1, Math::multiplyExact);
    double bound = bound(inputs, units);
    float[] weights = uniform(Math.multiplyExact(inputs, units), bound);
    Network.Array matrix =
        new Network.Array(new Block(layer + ".W", List.of(units, inputs), Kind.TRAINABLE), weights);
    Network.Array bias = bias(layer, units, bound);
    String expression =
        "torch.linear(torch.flatten(%%s, 1), self.%s, self.%s)"
            .formatted(matrix.attribute(), bias.attribute());
    if (rectified) {
      expression = "torch.relu(" + expression + ")";
    }
    layers.add(
        new Network.Layer(layer, List.of(from), expression, List.of(matrix, bias), List.of(units)));
  }

  /** Adds batch normalisation of channels with PyTorch's defaults: momentum 0.1, epsilon 1e-5. */
  void batchNorm(String layer, String from) {
    int channels = shape(from).get(0);
    List<Network.Array> arrays =
        List.of(
            constant(layer + ".gamma", channels, 1, Kind.TRAINABLE),
            constant(layer + ".beta", channels, 0, Kind.TRAINABLE),
            constant(layer + ".mean", channels, 0, Kind.STATISTIC),
            constant(layer + ".var", channels, 1, Kind.STATISTIC));
    String expression =
        "torch.batch_norm(%%s, self.%s, self.%s, self.%s, self.%s, training, 0.1, 1.0000000000000001e-05, True)"
            .formatted(arrays.stream().map(Network.Array::attribute).toArray());
    layers.add(new Network.Layer(layer, List.of(from), expression, arrays, shape(from)));
  }

  void relu(String layer, String from) {
    plain(layer, "torch.relu(%s)", shape(from), from);
  }

  /** Adds max-pooling with windows that do not overlap. */
  void maxPool(String layer, String from, int size) {
    List<Integer> shape = shape(from);
    plain(
        layer,
        "torch.max_pool2d(%%s, [%1$s, %1$s], [%1$s, %1$s], [0, 0], [1, 1], False)".formatted(size),
        List.of(shape.get(0), shape.get(1) / size, shape.get(2) / size),
        from);
  }

  /** Adds a layer that keeps every second pixel of each row and column. */
  void everySecond(String layer, String from) {
    List<Integer> shape = shape(from);
    plain(
        layer,
        "torch.max_pool2d(%s, [1, 1], [2, 2], [0, 0], [1, 1], False)",
        List.of(shape.get(0), (shape.get(1) + 1) / 2, (shape.get(2) + 1) / 2),
        from);
  }

  /** Adds a layer that puts the same number of zero channels before and after. */
  void padChannels(String layer, String from, int more) {
    List<Integer> shape = shape(from);
    plain(
        layer,
        "torch.constant_pad_nd(%%s, [0, 0, 0, 0, %1$s, %1$s], 0)".formatted(more),
        List.of(shape.get(0) + 2 * more, shape.get(1), shape.get(2)),
        from);
  }

  void add(String layer, String from, String other) {
    plain(layer, "torch.add(%s, %s)", shape(from), from, other);
  }

  /** Adds a layer that computes the mean of each channel. */
  void mean(String layer, String from) {
    plain(layer, "torch.mean(%s, [2, 3])", List.of(shape(from).get(0)), from);
  }

  /** Moves a layer to the position after an existing one. */
  void move(String layer, String after) {
    Network.Layer moved = layers.remove(index(layer));
    layers.add(index(after) + 1, moved);
  }

  Network build() {
    return new Network(name, input, layers);
  }

  private void plain(String layer, String expression, List<Integer> output, String... from) {
    layers.add(new Network.Layer(layer, List.of(from), expression, List.of(), output));
  }

  private List<Integer> shape(String layer) {
    return layer.equals(Network.INPUT) ? input : layers.get(index(layer)).output();
  }

  private int index(String layer) {
    return IntStream.range(0, layers.size())
        .filter(i -> layers.get(i).name().equals(layer))
        .findFirst()
        .orElseThrow();
  }

  /**
   * Returns the bound of uniform numbers in {@code [-bound, bound)}: He's with a = sqrt(5), or
   * Glorot's.
   */
  private double bound(int in, int out) {
    return glorot ? Math.sqrt(6.0 / (in + out)) : 1 / Math.sqrt(in);
  }

  private float[] uniform(int count, double bound) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = (float) ((2 * random.nextDouble() - 1) * bound);
    }
    return values;
  }

  private Network.Array bias(String layer, int units, double bound) {
    float[] values = glorot ? new float[units] : uniform(units, bound);
    return new Network.Array(new Block(layer + ".b", List.of(units), Kind.TRAINABLE), values);
  }

  private static Network.Array constant(String name, int length, float value, Kind kind) {
    float[] values = new float[length];
    Arrays.fill(values, value);
    return new Network.Array(new Block(name, List.of(length), kind), values);
  }
}
