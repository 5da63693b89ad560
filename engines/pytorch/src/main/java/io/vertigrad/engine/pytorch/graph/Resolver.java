package io.vertigrad.engine.pytorch.graph;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bytedeco.pytorch.Argument;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.FunctionSchema;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueOptional;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Type;

/**
 * Finds the operator of a node and brings its arguments into the order and the types of the
 * operator's schema.
 */
final class Resolver {

  private static final Pattern OPERATOR = Pattern.compile("torch\\.ops\\.aten\\.(\\w+)\\.(\\w+)");

  /** Arguments of ATen's operators that are true in training mode. */
  private static final Set<String> MODES = Set.of("train", "training", "use_input_stats");

  /** An argument of attention that is 0 in inference mode. */
  private static final String DROPOUT = "dropout_p";

  private static final String STATISTICS = "running_mean";
  private static final String NORMALIZATION = "norm";

  /** Ends the names of normalisation that was decomposed in inference mode, and has no other. */
  private static final String NO_TRAINING = "_no_training";

  private static final String DETACHES = "detach";

  /** An operator that reads files, which no network needs. */
  private static final String READS_FILES = "from_file";

  /**
   * The tensor of the module with which a value may share memory.
   *
   * @param kind of it
   * @param slot of it
   */
  record Origin(Graph.Kind kind, int slot) {}

  private final Graph.Node node;
  private final Map<String, Integer> slots;
  private final Device device;

  /** Null for arithmetic on numbers. */
  private final OperatorHandle operator;

  private final List<Argument> schema = new ArrayList<>();
  private final Map<String, Graph.Value> given = new HashMap<>();

  /**
   * Finds a node's operator.
   *
   * @param slots of the graph's values
   * @param device of tensors that the node creates
   * @throws IllegalArgumentException naming the node when libtorch has no such operator, or it does
   *     not take these arguments
   */
  Resolver(Graph.Node node, Map<String, Integer> slots, Device device) {
    this.node = node;
    this.slots = slots;
    this.device = device;
    Matcher name = OPERATOR.matcher(node.target());
    if (!name.matches()) {
      if (!Arithmetic.knows(node.target())) {
        throw refused("is not an operator that runs here, expected one of torch.ops.aten");
      }
      operator = null;
      return;
    }
    if (name.group(1).equals(READS_FILES)) {
      throw refused("reads a file, which a network must not");
    }
    String overload = name.group(2).equals("default") ? "" : name.group(2);
    try {
      operator = Dispatcher.realSingleton().findSchemaOrThrow("aten::" + name.group(1), overload);
    } catch (RuntimeException e) {
      throw refused("is not known to this libtorch (docs/guide/pytorch.md)");
    }
    FunctionSchema found = operator.schema();
    Argument arguments = found.arguments();
    for (long i = 0; i < arguments.limit(); i++) {
      schema.add(arguments.getPointer(i));
    }
    bind();
  }

  /** Assigns the node's arguments to the schema's. */
  private void bind() {
    int position = 0;
    for (Graph.Argument argument : node.arguments()) {
      String name = argument.name();
      if (name.isEmpty() && position < schema.size()) {
        name = name(schema.get(position));
      }
      position++;
      String wanted = name;
      if (schema.stream().noneMatch(one -> name(one).equals(wanted))) {
        throw refused(
            "has an argument %s that this libtorch does not know".formatted(argument.name()));
      }
      given.put(name, argument.value());
    }
  }

  /** Returns the node's name and target, for messages. */
  String description() {
    return "%s (%s)".formatted(node.name(), node.target());
  }

  /**
   * Returns the mode in which the node was exported: true for training; empty if it has none, or
   * computes the same in both.
   */
  Optional<Boolean> mode() {
    return schema.stream()
        .filter(this::isMode)
        .map(one -> given.get(name(one)))
        .filter(value -> value instanceof Graph.Constant)
        .map(value -> Boolean.TRUE.equals(((Graph.Constant) value).value()))
        .findFirst();
  }

  /** Returns whether the node is normalisation that can only use its statistics. */
  boolean isFrozen() {
    return node.target().contains(NO_TRAINING);
  }

  /** Returns whether the argument is a mode. Normalisation without statistics has no other one. */
  private boolean isMode(Argument argument) {
    if (!MODES.contains(name(argument))) {
      return false;
    }
    boolean hasStatistics = schema.stream().anyMatch(one -> name(one).equals(STATISTICS));
    return hasStatistics
        ? given.get(STATISTICS) instanceof Graph.Reference
        : !node.target().contains(NORMALIZATION);
  }

  /**
   * Returns the step of this node.
   *
   * @param exportedInTraining whether any node was; if none was, all run in training mode there
   * @param origins of the values of earlier nodes, by their names; this node's are added
   */
  GraphExecutor.Step step(boolean exportedInTraining, Map<String, Origin> origins) {
    int[][] outputs =
        node.outputs().stream()
            .map(
                one ->
                    one.names().stream()
                        .mapToInt(name -> name.isEmpty() ? -1 : slots.get(name))
                        .toArray())
            .toArray(int[][]::new);
    if (operator == null) {
      if (outputs.length != 1 || outputs[0].length != 1 || outputs[0][0] < 0) {
        throw refused("has other results than one number");
      }
      return new Arithmetic(
          node.target(),
          node.arguments().stream().map(one -> element(one.value(), null)).toList(),
          outputs[0][0]);
    }
    boolean[] lists = new boolean[outputs.length];
    for (int i = 0; i < lists.length; i++) {
      lists[i] = node.outputs().get(i).list();
    }
    List<IValue> training = new ArrayList<>();
    List<IValue> inference = new ArrayList<>();
    List<OperatorStep.Passed> passed = new ArrayList<>();
    for (int i = 0; i < schema.size(); i++) {
      Argument argument = schema.get(i);
      SchemaType type = new SchemaType(argument);
      Graph.Value value = given.get(name(argument));
      IValue constant = new IValue();
      if (value == null) {
        IValueOptional usual = argument.default_value();
        if (!usual.has_value()) {
          throw refused("has no argument %s, which its operator needs".formatted(name(argument)));
        }
        constant = new IValue(usual.get());
      } else if (value instanceof Graph.Reference reference) {
        passed.add(new OperatorStep.Passed(i, null, List.of(slot(reference)), type.isTensor()));
      } else if (value instanceof Graph.Elements list && !isConstant(list)) {
        passed.add(
            new OperatorStep.Passed(
                i,
                elementType(type, name(argument)).retainReference(),
                list.elements().stream().map(one -> element(one, type)).toList(),
                false));
      } else {
        constant = constant(value, type, name(argument));
      }
      boolean flag = isMode(argument);
      training.add(flag && !exportedInTraining ? new IValue(true) : constant);
      boolean attention = name(argument).equals(DROPOUT) && !(value instanceof Graph.Reference);
      inference.add(flag ? new IValue(false) : attention ? new IValue(0.0) : constant);
    }
    follow(origins);
    Optional<Graph.Reference> written = written();
    Optional<Origin> buffer =
        written.map(one -> origins.get(one.value())).filter(one -> one.kind().isBuffer());
    // An operator with further results computes them, and changes statistics by its mode.
    boolean skipped = buffer.isPresent() && outputs.length <= 1;
    return new OperatorStep(
        new OperatorHandle(operator).retainReference(),
        vector(training),
        vector(inference),
        passed,
        outputs,
        lists,
        skipped ? slots.get(written.get().value()) : -1,
        skipped ? buffer.get().slot() : -1,
        device);
  }

  private static IValueVector vector(List<IValue> values) {
    return new IValueVector(values.toArray(IValue[]::new)).retainReference();
  }

  /** Returns the value that the node changes in place; empty if it changes none. */
  private Optional<Graph.Reference> written() {
    return schema.stream()
        .filter(argument -> isShared(argument) && argument.alias_info().isWrite())
        .map(argument -> given.get(name(argument)))
        .filter(value -> value instanceof Graph.Reference)
        .map(value -> (Graph.Reference) value)
        .findFirst();
  }

  /**
   * Adds the tensors of the module with which this node's values may share memory.
   *
   * @param origins of the values of earlier nodes, by their names
   * @throws IllegalArgumentException when the node changes a parameter
   */
  private void follow(Map<String, Origin> origins) {
    for (Argument argument : schema) {
      Origin origin =
          isShared(argument) && given.get(name(argument)) instanceof Graph.Reference reference
              ? origins.get(reference.value())
              : null;
      if (origin == null) {
        continue;
      }
      boolean parameter = origin.kind() == Graph.Kind.PARAMETER;
      if (parameter && argument.alias_info().isWrite()) {
        throw refused("changes a parameter in place, expected only buffers to change");
      }
      // Autograd refuses changes of other views of a parameter itself.
      if (!parameter || node.target().contains(DETACHES)) {
        node.outputs().forEach(one -> one.names().forEach(name -> origins.put(name, origin)));
      }
    }
  }

  private static boolean isShared(Argument argument) {
    return argument.alias_info() != null && !argument.alias_info().isNull();
  }

  private static boolean isConstant(Graph.Elements list) {
    return list.elements().stream().allMatch(one -> one instanceof Graph.Constant);
  }

  private OperatorStep.Element slot(Graph.Reference reference) {
    return new OperatorStep.Element(slots.get(reference.value()), null);
  }

  private OperatorStep.Element element(Graph.Value value, SchemaType list) {
    if (value instanceof Graph.Reference reference) {
      return slot(reference);
    }
    SchemaType type = list == null ? SchemaType.ANY : list.ofElements();
    return new OperatorStep.Element(-1, constant(value, type, "").retainReference());
  }

  private Type.TypePtr elementType(SchemaType type, String argument) {
    try {
      return type.element();
    } catch (IllegalArgumentException e) {
      throw refused("has an argument %s that is %s".formatted(argument, e.getMessage()));
    }
  }

  private IValue constant(Graph.Value value, SchemaType type, String argument) {
    try {
      return type.constant(value, device);
    } catch (IllegalArgumentException e) {
      throw refused("has an argument %s that is %s".formatted(argument, e.getMessage()));
    }
  }

  private static String name(Argument argument) {
    return argument.name().getString();
  }

  private IllegalArgumentException refused(String what) {
    return new IllegalArgumentException("node %s %s".formatted(description(), what));
  }
}
