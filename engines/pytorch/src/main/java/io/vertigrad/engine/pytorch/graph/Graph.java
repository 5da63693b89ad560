package io.vertigrad.engine.pytorch.graph;

import java.util.List;

/**
 * A network as a list of operations in the order in which they run. Each value has a name that is
 * unique in the graph.
 *
 * @param inputs tensors that the graph reads: parameters, buffers, constants and the user's input
 * @param nodes each after the nodes whose values it reads
 * @param output name of the value that the network puts out
 * @param updates buffers that take a value of the graph after a pass in training mode
 */
public record Graph(List<Input> inputs, List<Node> nodes, String output, List<Update> updates) {

  /** Copies the lists. */
  public Graph {
    inputs = List.copyOf(inputs);
    nodes = List.copyOf(nodes);
    updates = List.copyOf(updates);
  }

  /** What an input of the graph is. */
  public enum Kind {
    /** A parameter. */
    PARAMETER,
    /** A buffer of the module, such as a running mean. */
    BUFFER,
    /** A buffer that is no part of the module's state, such as a mask. */
    TABLE,
    /** A tensor that never changes. */
    CONSTANT,
    /** The batch. */
    USER;

    boolean isBuffer() {
      return this == BUFFER || this == TABLE;
    }
  }

  /**
   * A tensor that the graph reads.
   *
   * @param value its name in the graph
   * @param kind what it is
   * @param tensor the module's name for it, such as {@code layer.0.weight}; of the user's input the
   *     name of the argument
   */
  public record Input(String value, Kind kind, String tensor) {}

  /**
   * A buffer that a value of the graph replaces. Buffers that an operation changes in place are not
   * among them.
   *
   * @param value name of the new value in the graph
   * @param buffer the module's name of the buffer
   */
  public record Update(String value, String buffer) {}

  /**
   * An operation.
   *
   * @param name of the node, for messages
   * @param target of the operation as the file has it, such as {@code
   *     torch.ops.aten.linear.default} or {@code _operator.mul}
   * @param arguments by the names of the operator's schema, without those that have their default
   * @param outputs one for each value that the operator returns
   */
  public record Node(String name, String target, List<Argument> arguments, List<Output> outputs) {

    /** Copies the lists. */
    public Node {
      arguments = List.copyOf(arguments);
      outputs = List.copyOf(outputs);
    }
  }

  /**
   * An argument of an operation.
   *
   * @param name in the operator's schema; empty if the file has none, and then its position counts
   * @param value what is passed
   */
  public record Argument(String name, Value value) {}

  /**
   * A returned value of an operation.
   *
   * @param names one name for a tensor or number, one for each element of a list of tensors; an
   *     empty name for an element that is not used
   * @param list whether the operator returns a list here
   */
  public record Output(List<String> names, boolean list) {

    /** Copies the list. */
    public Output {
      names = List.copyOf(names);
    }
  }

  /** What an operation gets as an argument. */
  public sealed interface Value permits Constant, Reference, Elements {}

  /**
   * A constant.
   *
   * @param value null, a {@code Long}, {@code Double}, {@code Boolean} or {@code String}, or a
   *     {@link Special}
   */
  public record Constant(Object value) implements Value {}

  /**
   * A value that an input or an earlier node has.
   *
   * @param value its name
   */
  public record Reference(String value) implements Value {}

  /**
   * A list.
   *
   * @param elements constants or references
   */
  public record Elements(List<Value> elements) implements Value {

    /** Copies the list. */
    public Elements {
      elements = List.copyOf(elements);
    }
  }

  /** A constant that ATen represents by a number of its own. */
  public sealed interface Special permits Type, Layout, Memory, Place {}

  /**
   * A type of numbers.
   *
   * @param number of ATen's {@code ScalarType}
   */
  public record Type(int number) implements Special {}

  /**
   * A layout of a tensor.
   *
   * @param number of ATen's {@code Layout}
   */
  public record Layout(int number) implements Special {}

  /**
   * An order of a tensor's elements in memory.
   *
   * @param number of ATen's {@code MemoryFormat}
   */
  public record Memory(int number) implements Special {}

  /** The device of the graph, whichever device the file names. */
  public record Place() implements Special {}
}
