package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Block;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * A network as a list of layers, each with its arrays and the TorchScript expression that computes
 * it.
 *
 * @param name of the model
 * @param input one sample's dimensions
 * @param layers each after the layers that it reads; the last one's output is the network's
 */
record Network(String name, List<Integer> input, List<Layer> layers) {

  /** The name of the network's input among the inputs of a layer. */
  static final String INPUT = "in";

  /**
   * An array with its initial values.
   *
   * @param block its name, {@code layer.array}, its shape and its kind
   * @param values as many as the block has
   */
  record Array(Block block, float[] values) {

    /** Returns the name of the module's attribute, an identifier. */
    String attribute() {
      return identifier(block.name());
    }
  }

  /**
   * One layer.
   *
   * @param name unique in the network
   * @param inputs names of the layers it reads, or {@link #INPUT}
   * @param expression TorchScript with {@code %s} for each input, in their order
   * @param arrays parameters and statistics
   * @param output one sample's dimensions at the output
   */
  record Layer(
      String name,
      List<String> inputs,
      String expression,
      List<Array> arrays,
      List<Integer> output) {

    Layer {
      inputs = List.copyOf(inputs);
      arrays = List.copyOf(arrays);
      output = List.copyOf(output);
    }

    /**
     * Returns this layer with one input replaced by the network's input.
     *
     * @param other name of the replaced input
     */
    Layer after(String other) {
      List<String> renamed =
          inputs.stream().map(read -> read.equals(other) ? INPUT : read).toList();
      return new Layer(name, renamed, expression, arrays, output);
    }
  }

  Network {
    input = List.copyOf(input);
    layers = List.copyOf(layers);
  }

  /**
   * Returns a range of layers as a network whose input is the output of the layer before the range.
   *
   * @param first index of the first layer
   * @param last index of the last layer
   */
  Network part(int first, int last) {
    if (first == 0) {
      return new Network(name, input, layers.subList(0, last + 1));
    }
    Layer before = layers.get(first - 1);
    return new Network(
        name,
        before.output(),
        layers.subList(first, last + 1).stream().map(layer -> layer.after(before.name())).toList());
  }

  /** Returns the reason why no stage may end with this layer; null if one may. */
  String obstacle(int end) {
    Set<String> before = new HashSet<>(Set.of(INPUT));
    layers.subList(0, end).forEach(layer -> before.add(layer.name()));
    for (Layer after : layers.subList(end + 1, layers.size())) {
      for (String read : after.inputs()) {
        if (before.contains(read)) {
          return "%s, which comes after it, also reads %s, and only one activation may cross"
              .formatted(after.name(), read);
        }
      }
    }
    return end == layers.size() - 1 ? "it is the last layer" : null;
  }

  /**
   * Returns all arrays, layer after layer, in each layer's order of trainable arrays and
   * statistics.
   */
  List<Array> arrays() {
    return layers.stream().flatMap(layer -> layer.arrays().stream()).toList();
  }

  /** Returns the class of the module as TorchScript. */
  String code(String className) {
    List<String> lines = new ArrayList<>();
    lines.add("class " + className + "(Module):");
    lines.add("  __parameters__ = " + names(Block.Kind.TRAINABLE));
    lines.add("  __buffers__ = " + names(Block.Kind.STATISTIC));
    arrays().forEach(array -> lines.add("  " + array.attribute() + " : Tensor"));
    lines.add("  training : bool");
    lines.add("  def forward(self: __torch__.%s,".formatted(className));
    lines.add("    x: Tensor) -> Tensor:");
    lines.add("    training = self.training");
    for (Layer layer : layers) {
      Object[] inputs = layer.inputs().stream().map(Network::variable).toArray();
      lines.add(
          "    %s = %s"
              .formatted(
                  variable(layer.name()), String.format(Locale.ROOT, layer.expression(), inputs)));
    }
    lines.add("    return " + variable(layers.get(layers.size() - 1).name()));
    return String.join("\n", lines) + "\n";
  }

  private String names(Block.Kind kind) {
    StringBuilder names = new StringBuilder("[");
    arrays().stream()
        .filter(array -> array.block().kind() == kind)
        .forEach(array -> names.append('"').append(array.attribute()).append("\", "));
    return names.append(']').toString();
  }

  private static String variable(String layer) {
    return layer.equals(INPUT) ? "x" : "_" + identifier(layer);
  }

  private static String identifier(String name) {
    return name.replaceAll("\\W", "_");
  }
}
