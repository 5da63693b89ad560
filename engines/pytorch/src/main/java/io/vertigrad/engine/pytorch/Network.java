package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Block;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A network as layers that follow each other, each with its arrays and the line of TorchScript that
 * computes it.
 *
 * @param name of the model
 * @param input one sample's dimensions
 * @param layers each after those it reads; the last one's output is the network's
 */
record Network(String name, List<Integer> input, List<Layer> layers) {

  /** What a layer calls the network's input. */
  static final String INPUT = "in";

  /**
   * An array with its first values.
   *
   * @param block its name, {@code layer.array}, its shape and its kind
   * @param values as many as the block has
   */
  record Array(Block block, float[] values) {

    /** The attribute of the module, an identifier. */
    String attribute() {
      return identifier(block.name());
    }
  }

  /**
   * One layer.
   *
   * @param name unique in the network
   * @param inputs layers it reads, or {@link #INPUT}
   * @param expression TorchScript with {@code %s} for each input, in their order
   * @param arrays what it learns and what it counts
   * @param output one sample's dimensions of what it puts out
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

    /** The same layer where what it reads of another is the network's input. */
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
   * A run of its layers, whose input is what the layer before it puts out.
   *
   * @param first index of its first layer
   * @param last index of its last layer
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

  /** Why no stage may end with this layer; null if one may. */
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

  /** All arrays, layer after layer: trainable ones and statistics as each layer has them. */
  List<Array> arrays() {
    return layers.stream().flatMap(layer -> layer.arrays().stream()).toList();
  }

  /** The class of the module, as text of TorchScript. */
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
          "    %s = %s".formatted(variable(layer.name()), layer.expression().formatted(inputs)));
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
