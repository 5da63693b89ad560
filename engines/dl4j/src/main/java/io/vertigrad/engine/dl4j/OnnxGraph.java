package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.formats.ProtoMessage;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes a graph in the format ONNX: operators, constants, one input, one output.
 *
 * <p>The numbers of fields and types are those of {@code onnx.proto}; operators are of set 13.
 */
final class OnnxGraph {

  private static final int FORMAT_VERSION = 7;
  private static final int OPERATOR_SET = 13;
  private static final int FLOAT = 1;
  private static final int INT64 = 7;
  private static final String BATCH = "batch";

  /**
   * Largest number of bytes of the arrays: the limit of a protocol-buffers message, less room for
   * everything else.
   */
  private static final long MOST_BYTES = Integer.MAX_VALUE - (64L << 20);

  private final ProtoMessage graph = new ProtoMessage();
  private long bytes;

  /** One operator: its inputs, its attributes and its single output. */
  static final class Operator {

    private final String type;
    private final List<String> inputs;
    private final ProtoMessage attributes = new ProtoMessage();

    Operator(String type, String... inputs) {
      this.type = type;
      this.inputs = new ArrayList<>(List.of(inputs));
    }

    Operator reads(String input) {
      inputs.add(input);
      return this;
    }

    Operator with(String attribute, long value) {
      return add(new ProtoMessage().text(1, attribute).integer(3, value).integer(20, 2));
    }

    Operator with(String attribute, float value) {
      return add(new ProtoMessage().text(1, attribute).single(2, value).integer(20, 1));
    }

    Operator with(String attribute, String value) {
      byte[] text = value.getBytes(StandardCharsets.UTF_8);
      return add(new ProtoMessage().text(1, attribute).bytes(4, text).integer(20, 3));
    }

    Operator with(String attribute, int... values) {
      ProtoMessage list = new ProtoMessage().text(1, attribute);
      for (int value : values) {
        list.integer(8, value);
      }
      return add(list.integer(20, 7));
    }

    private Operator add(ProtoMessage attribute) {
      attributes.message(5, attribute);
      return this;
    }
  }

  /** Creates an empty graph of this name. */
  OnnxGraph(String name) {
    graph.text(2, name);
  }

  /** Adds an operator with an output of this name; returns the name. */
  String add(String output, Operator operator) {
    ProtoMessage node = new ProtoMessage();
    operator.inputs.forEach(input -> node.text(1, input));
    node.text(2, output).text(3, output).text(4, operator.type);
    graph.message(1, node.append(operator.attributes));
    return output;
  }

  /**
   * Adds a constant; returns its name.
   *
   * @param values with the last dimension fastest
   */
  String constant(String name, float[] values, long... shape) {
    bytes += (long) values.length * Float.BYTES;
    if (bytes > MOST_BYTES) {
      throw new IllegalArgumentException(
          "format onnx: the network's arrays have more than %s bytes, more than one file may have"
              .formatted(MOST_BYTES));
    }
    ByteBuffer raw =
        ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    raw.asFloatBuffer().put(values);
    graph.message(
        5,
        new ProtoMessage()
            .integers(1, shape)
            .integer(2, FLOAT)
            .text(8, name)
            .bytes(9, raw.array()));
    return name;
  }

  /** Adds a list of whole numbers; returns its name. */
  String constant(String name, long... values) {
    ByteBuffer raw = ByteBuffer.allocate(values.length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    raw.asLongBuffer().put(values);
    graph.message(
        5,
        new ProtoMessage()
            .integers(1, values.length)
            .integer(2, INT64)
            .text(8, name)
            .bytes(9, raw.array()));
    return name;
  }

  /** Declares the input: any number of samples of this shape; returns the name. */
  String input(String name, List<Integer> sample) {
    graph.message(11, value(name, sample));
    return name;
  }

  /** Declares the output: any number of samples of this shape. */
  void output(String name, List<Integer> sample) {
    graph.message(12, value(name, sample));
  }

  /** Returns the content of the file. */
  byte[] toBytes() {
    return new ProtoMessage()
        .integer(1, FORMAT_VERSION)
        .text(2, "vertigrad")
        .message(7, graph)
        .message(8, new ProtoMessage().text(1, "").integer(2, OPERATOR_SET))
        .toBytes();
  }

  private static ProtoMessage value(String name, List<Integer> sample) {
    ProtoMessage shape = new ProtoMessage().message(1, new ProtoMessage().text(2, BATCH));
    sample.forEach(size -> shape.message(1, new ProtoMessage().integer(1, size)));
    ProtoMessage tensor = new ProtoMessage().integer(1, FLOAT).message(2, shape);
    return new ProtoMessage().text(1, name).message(2, new ProtoMessage().message(1, tensor));
  }
}
