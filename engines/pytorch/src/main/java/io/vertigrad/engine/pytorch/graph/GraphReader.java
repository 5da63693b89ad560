package io.vertigrad.engine.pytorch.graph;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.engine.pytorch.graph.Graph.Argument;
import io.vertigrad.engine.pytorch.graph.Graph.Constant;
import io.vertigrad.engine.pytorch.graph.Graph.Elements;
import io.vertigrad.engine.pytorch.graph.Graph.Input;
import io.vertigrad.engine.pytorch.graph.Graph.Kind;
import io.vertigrad.engine.pytorch.graph.Graph.Layout;
import io.vertigrad.engine.pytorch.graph.Graph.Memory;
import io.vertigrad.engine.pytorch.graph.Graph.Node;
import io.vertigrad.engine.pytorch.graph.Graph.Output;
import io.vertigrad.engine.pytorch.graph.Graph.Place;
import io.vertigrad.engine.pytorch.graph.Graph.Reference;
import io.vertigrad.engine.pytorch.graph.Graph.Type;
import io.vertigrad.engine.pytorch.graph.Graph.Update;
import io.vertigrad.engine.pytorch.graph.Graph.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Reads the graph of a program as JSON of the schema that PyTorch 2.6 to 2.14 write, and refuses by
 * the node's name what cannot be run or trained here.
 */
final class GraphReader {

  private static final long SCHEMA = 8;
  private static final String ATEN = "torch.ops.aten.";
  private static final List<String> SCALARS =
      List.of("_operator.", "torch.sym_", "torch._sym_", "math.");

  /** Layouts of the schema by their number, as ATen's numbers; -1 for none. */
  private static final int[] LAYOUTS = {-1, 1, 2, 4, 5, 6, 3, 0};

  /** Memory formats of the schema by their number, as ATen's numbers; -1 for none. */
  private static final int[] MEMORIES = {-1, 0, 2, 3, 1};

  private final JsonValue program;
  private final JsonValue graph;
  private final JsonValue signature;

  private final Set<String> defined = new HashSet<>();
  private final Set<String> read = new HashSet<>();
  private final List<Input> inputs = new ArrayList<>();
  private final List<Node> nodes = new ArrayList<>();
  private final List<Update> updates = new ArrayList<>();
  private final Set<String> constants = new LinkedHashSet<>();
  private final List<String> users = new ArrayList<>();
  private String output;

  private final List<Long> sample = new ArrayList<>();
  private OptionalLong batch = OptionalLong.empty();
  private ElementType type;

  private GraphReader(JsonValue program) throws ArchiveException {
    this.program = program;
    JsonValue module = program.get("graph_module");
    this.graph = module.get("graph");
    this.signature = module.get("signature");
  }

  /**
   * Reads a program.
   *
   * @param program the whole file
   * @throws ArchiveException when it is damaged, of another version, or cannot be run here
   */
  static GraphReader read(JsonValue program) throws ArchiveException {
    checkVersion(program);
    GraphReader reader = new GraphReader(program);
    reader.readInputs();
    reader.readUser();
    for (JsonValue node : reader.graph.get("nodes").elements()) {
      reader.readNode(node);
    }
    reader.readOutputs();
    return reader;
  }

  /** Returns the graph. */
  Graph graph() {
    return new Graph(inputs, nodes.stream().map(this::withoutUnused).toList(), output, updates);
  }

  /** Returns dimensions of the user's input without the first; -1 for one that may vary. */
  List<Long> sample() {
    return sample;
  }

  /** Returns the number of samples that the network takes, if it takes only that. */
  OptionalLong batch() {
    return batch;
  }

  /** Returns the type of the user's input. */
  ElementType type() {
    return type;
  }

  /** Returns the names of tensors that are kept with the constants, not with the weights. */
  Set<String> constants() {
    return constants;
  }

  /**
   * Checks a tensor against what the graph says of the input that reads it.
   *
   * @throws ArchiveException when they differ
   */
  void check(Input input, TensorView view) throws ArchiveException {
    JsonValue meta = meta(input.value());
    ElementType expected = TensorView.type(meta.get("dtype"));
    List<Long> shape = new ArrayList<>();
    for (JsonValue one : meta.get("sizes").elements()) {
      shape.add(one.get("as_int").integer());
    }
    if (expected != view.type() || !shape.equals(view.shape())) {
      throw new ArchiveException(
          "has %s as %s of shape %s, but its graph takes %s of shape %s: it is damaged"
              .formatted(
                  JsonText.shown(input.tensor()),
                  view.type().text(),
                  view.shape(),
                  expected.text(),
                  shape));
    }
  }

  private static void checkVersion(JsonValue program) throws ArchiveException {
    JsonValue version = program.get("schema_version");
    long major = version.get("major").integer();
    if (major != SCHEMA) {
      var writer = program.find("torch_version");
      throw new ArchiveException(
          "has schema %s.%s%s, expected %s.x of PyTorch 2.6 to 2.14: export it with one of them"
              .formatted(
                  major,
                  version.get("minor").integer(),
                  writer.isEmpty() ? "" : " of PyTorch " + JsonText.shown(writer.get().text()),
                  SCHEMA));
    }
  }

  private void readInputs() throws ArchiveException {
    for (JsonValue spec : signature.get("input_specs").elements()) {
      Map.Entry<String, JsonValue> one = spec.alternative();
      JsonValue input = one.getValue();
      switch (one.getKey()) {
        case "parameter" -> add(input, Kind.PARAMETER, input.get("parameter_name").text());
        case "buffer" -> {
          String name = input.get("buffer_name").text();
          boolean persistent = input.get("persistent").truth();
          add(input, persistent ? Kind.BUFFER : Kind.TABLE, name);
          if (!persistent) {
            constants.add(name);
          }
        }
        case "tensor_constant" -> {
          String name = input.get("tensor_constant_name").text();
          add(input, Kind.CONSTANT, name);
          constants.add(name);
        }
        case "user_input" -> user(input.get("arg"));
        // An argument that was a number or None became part of the graph.
        case "constant_input" -> {}
        case "custom_obj" ->
            throw new ArchiveException(
                "has the custom object %s as an input, expected tensors: write the network without"
                        .formatted(JsonText.shown(input.get("custom_obj_name").text()))
                    + " it");
        case "token" ->
            throw new ArchiveException(
                "has operators with side effects, expected operators of aten only");
        default -> throw spec.other("a kind of input that PyTorch 2.6 to 2.14 know");
      }
    }
    // PyTorch 2.6 writes two inputs for a parameter that has two names.
    Map<String, Kind> kinds = new HashMap<>();
    for (Input input : inputs) {
      Kind other = kinds.putIfAbsent(input.tensor(), input.kind());
      if (input.kind() != Kind.USER && other != null && other != input.kind()) {
        throw new ArchiveException(
            "has %s as two kinds of input: it is damaged"
                .formatted(JsonText.shown(input.tensor())));
      }
    }
  }

  private void add(JsonValue spec, Kind kind, String tensor) throws ArchiveException {
    inputs.add(new Input(define(spec.get("arg").get("name")), kind, tensor));
  }

  private void user(JsonValue argument) throws ArchiveException {
    Map.Entry<String, JsonValue> one = argument.alternative();
    if (!one.getKey().equals("as_tensor")) {
      throw new ArchiveException(
          "takes an input that is no tensor (%s), expected one tensor"
              .formatted(JsonText.shown(one.getKey())));
    }
    String name = define(one.getValue().get("name"));
    users.add(name);
    inputs.add(new Input(name, Kind.USER, name));
  }

  private void readUser() throws ArchiveException {
    if (users.size() != 1) {
      throw new ArchiveException(
          "takes %s inputs%s, expected one tensor, the batch"
              .formatted(
                  users.size(),
                  users.isEmpty()
                      ? ""
                      : " (%s)".formatted(JsonText.shown(String.join(", ", users)))));
    }
    JsonValue meta = meta(users.get(0));
    type = TensorView.type(meta.get("dtype"));
    List<JsonValue> sizes = meta.get("sizes").elements();
    if (sizes.isEmpty()) {
      throw new ArchiveException(
          "takes a number as its input %s, expected a tensor whose first dimension is the batch"
              .formatted(JsonText.shown(users.get(0))));
    }
    long first = dimension(sizes.get(0));
    batch = first < 0 ? OptionalLong.empty() : OptionalLong.of(first);
    for (JsonValue size : sizes.subList(1, sizes.size())) {
      sample.add(dimension(size));
    }
  }

  /** Returns a dimension, or -1 for an expression with a symbol. */
  private static long dimension(JsonValue size) throws ArchiveException {
    Map.Entry<String, JsonValue> one = size.alternative();
    switch (one.getKey()) {
      case "as_expr" -> {
        JsonValue expression = one.getValue().get("expr_str");
        if (!expression.text().contains("Symbol(")) {
          throw expression.other("an expression with a symbol");
        }
        return -1;
      }
      case "as_int" -> {
        if (one.getValue().integer() < 1) {
          throw one.getValue().other("a dimension of at least 1");
        }
        return one.getValue().integer();
      }
      default -> throw size.other("a number or a symbol");
    }
  }

  private JsonValue meta(String value) throws ArchiveException {
    return graph.get("tensor_values").get(value);
  }

  private String define(JsonValue name) throws ArchiveException {
    String text = name.text();
    if (text.isEmpty()) {
      throw name.other("a name");
    }
    if (!defined.add(text)) {
      throw name.other("a name that no other value has");
    }
    return text;
  }

  private void readNode(JsonValue node) throws ArchiveException {
    String target = node.get("target").text();
    List<JsonValue> results = node.get("outputs").elements();
    String name = name(node, target, results);
    try {
      checkTarget(target);
      List<Argument> arguments = new ArrayList<>();
      for (JsonValue input : node.get("inputs").elements()) {
        Value value = value(input.get("arg"));
        arguments.add(new Argument(input.get("name").text(), value));
      }
      List<Output> outputs = new ArrayList<>();
      for (JsonValue result : results) {
        outputs.add(output(result));
      }
      nodes.add(new Node(name, target, arguments, outputs));
    } catch (ArchiveException e) {
      throw new ArchiveException(
          "node %s (%s) %s"
              .formatted(JsonText.shown(name), JsonText.shown(target), e.getMessage()));
    }
  }

  /** Returns the name of a node. Before 2.9 the schema had none, and its first value has it. */
  private static String name(JsonValue node, String target, List<JsonValue> results)
      throws ArchiveException {
    var given = node.find("name");
    if (given.isPresent()) {
      return given.get().text();
    }
    if (!results.isEmpty() && results.get(0).alternative().getKey().equals("as_tensor")) {
      return results.get(0).get("as_tensor").get("name").text();
    }
    String[] parts = target.split("\\.");
    return target.startsWith("torch.ops.") && parts.length > 3
        ? parts[3]
        : target.substring(target.lastIndexOf('.') + 1);
  }

  private static void checkTarget(String target) throws ArchiveException {
    if (target.startsWith(ATEN) || SCALARS.stream().anyMatch(target::startsWith)) {
      return;
    }
    if (target.startsWith("torch.ops.higher_order.")) {
      throw new ArchiveException(
          "runs a graph of its own (cond, map, a loop, or a block without gradients), expected"
              + " operators of aten only: write the network without it");
    }
    throw new ArchiveException(
        "is a custom operation, expected operators of aten only: write the network without it");
  }

  private Value value(JsonValue argument) throws ArchiveException {
    Map.Entry<String, JsonValue> one = argument.alternative();
    JsonValue value = one.getValue();
    return switch (one.getKey()) {
      case "as_none" -> new Constant(null);
      case "as_tensor" -> reference(value.get("name"));
      case "as_tensors" -> elements(value, tensor -> reference(tensor.get("name")));
      case "as_optional_tensor" -> optional(value);
      case "as_optional_tensors" -> elements(value, this::optional);
      case "as_nested_tensors" ->
          elements(value, list -> elements(list, tensor -> reference(tensor.get("name"))));
      case "as_int" -> integer(value);
      case "as_ints" -> elements(value, GraphReader::integer);
      case "as_int_lists" -> elements(value, list -> elements(list, GraphReader::integer));
      case "as_float" -> number(value);
      case "as_floats" -> elements(value, GraphReader::number);
      case "as_float_lists" -> elements(value, list -> elements(list, GraphReader::number));
      case "as_bool" -> truth(value);
      case "as_bools" -> elements(value, GraphReader::truth);
      case "as_string" -> text(value);
      case "as_strings" -> elements(value, GraphReader::text);
      case "as_sym_int", "as_sym_float", "as_sym_bool" -> symbol(value);
      case "as_sym_ints", "as_sym_floats", "as_sym_bools" -> elements(value, this::symbol);
      case "as_scalar_type" -> new Constant(new Type(TensorView.type(value).aten()));
      case "as_layout" -> new Constant(new Layout(mapped(value, LAYOUTS)));
      case "as_memory_format" -> new Constant(new Memory(mapped(value, MEMORIES)));
      case "as_device" -> new Constant(new Place());
      case "as_graph" ->
          throw new ArchiveException(
              "runs a graph of its own, expected operators of aten only: write the network without"
                  + " it");
      case "as_custom_obj", "as_operator", "as_complex", "as_string_to_argument" ->
          throw new ArchiveException(
              "takes an argument %s, expected tensors and real numbers".formatted(one.getKey()));
      default -> throw argument.other("a kind of argument that PyTorch 2.6 to 2.14 know");
    };
  }

  /** Reads one element of a list. */
  @FunctionalInterface
  private interface ElementReader {
    Value read(JsonValue value) throws ArchiveException;
  }

  private static Value elements(JsonValue list, ElementReader reader) throws ArchiveException {
    List<Value> values = new ArrayList<>();
    for (JsonValue one : list.elements()) {
      values.add(reader.read(one));
    }
    return new Elements(values);
  }

  private Value reference(JsonValue name) throws ArchiveException {
    String text = name.text();
    if (!defined.contains(text)) {
      throw name.other("the name of an input or of an earlier node's value");
    }
    read.add(text);
    return new Reference(text);
  }

  private Value optional(JsonValue value) throws ArchiveException {
    Map.Entry<String, JsonValue> one = value.alternative();
    return switch (one.getKey()) {
      case "as_none" -> new Constant(null);
      case "as_tensor" -> reference(one.getValue().get("name"));
      default -> throw value.other("a tensor or none");
    };
  }

  private Value symbol(JsonValue value) throws ArchiveException {
    Map.Entry<String, JsonValue> one = value.alternative();
    return switch (one.getKey()) {
      case "as_name" -> reference(one.getValue());
      case "as_int" -> integer(one.getValue());
      case "as_float" -> number(one.getValue());
      case "as_bool" -> truth(one.getValue());
      default -> throw value.other("a number or a name");
    };
  }

  private static Value integer(JsonValue value) throws ArchiveException {
    return new Constant(value.integer());
  }

  private static Value number(JsonValue value) throws ArchiveException {
    return new Constant(value.number());
  }

  private static Value truth(JsonValue value) throws ArchiveException {
    return new Constant(value.truth());
  }

  private static Value text(JsonValue value) throws ArchiveException {
    return new Constant(value.text());
  }

  private static int mapped(JsonValue value, int[] numbers) throws ArchiveException {
    long number = value.integer();
    if (number < 1 || number >= numbers.length) {
      throw value.other("a number from 1 to " + (numbers.length - 1));
    }
    return numbers[(int) number];
  }

  private Output output(JsonValue result) throws ArchiveException {
    Map.Entry<String, JsonValue> one = result.alternative();
    JsonValue value = one.getValue();
    return switch (one.getKey()) {
      case "as_none" -> new Output(List.of(""), false);
      case "as_tensor" -> new Output(List.of(define(value.get("name"))), false);
      case "as_sym_int", "as_sym_float", "as_sym_bool" ->
          new Output(List.of(define(value.get("as_name"))), false);
      case "as_tensors" -> {
        List<String> names = new ArrayList<>();
        for (JsonValue tensor : value.elements()) {
          names.add(define(tensor.get("name")));
        }
        yield new Output(names, true);
      }
      default ->
          throw new ArchiveException(
              "returns %s, expected tensors or numbers".formatted(JsonText.shown(one.getKey())));
    };
  }

  private void readOutputs() throws ArchiveException {
    Map<String, Kind> kinds = new HashMap<>();
    inputs.forEach(input -> kinds.put(input.tensor(), input.kind()));
    List<String> outputs = new ArrayList<>();
    for (JsonValue spec : signature.get("output_specs").elements()) {
      Map.Entry<String, JsonValue> one = spec.alternative();
      JsonValue argument = one.getValue().get("arg");
      switch (one.getKey()) {
        case "user_output" -> outputs.add(userOutput(argument));
        case "buffer_mutation" -> {
          String buffer = one.getValue().get("buffer_name").text();
          if (!kinds.containsKey(buffer) || !kinds.get(buffer).isBuffer()) {
            throw one.getValue().get("buffer_name").other("the name of a buffer");
          }
          updates.add(new Update(((Reference) reference(argument.get("name"))).value(), buffer));
        }
        case "loss_output", "gradient_to_parameter", "gradient_to_user_input" ->
            throw new ArchiveException(
                "computes its loss and gradients itself (%s), expected a network alone"
                    .formatted(one.getKey()));
        case "parameter_mutation", "user_input_mutation" ->
            throw new ArchiveException(
                "changes %s in place, expected only buffers to change"
                    .formatted(
                        one.getKey().equals("parameter_mutation") ? "a parameter" : "its input"));
        case "token" ->
            throw new ArchiveException(
                "has operators with side effects, expected operators of aten only");
        default -> throw spec.other("a kind of output that PyTorch 2.6 to 2.14 know");
      }
    }
    if (outputs.size() != 1) {
      throw new ArchiveException(
          "puts out %s values, expected one tensor: return only the output that is trained"
              .formatted(outputs.size()));
    }
    output = outputs.get(0);
  }

  private String userOutput(JsonValue argument) throws ArchiveException {
    Map.Entry<String, JsonValue> one = argument.alternative();
    if (!one.getKey().equals("as_tensor")) {
      throw new ArchiveException(
          "puts out a value that is no tensor (%s), expected one tensor"
              .formatted(JsonText.shown(one.getKey())));
    }
    return ((Reference) reference(one.getValue().get("name"))).value();
  }

  /** Leaves out the names of values that nothing reads, of nodes that have several. */
  private Node withoutUnused(Node node) {
    boolean several = node.outputs().size() > 1 || node.outputs().stream().anyMatch(Output::list);
    if (!several) {
      return node;
    }
    List<Output> outputs =
        node.outputs().stream()
            .map(
                one ->
                    new Output(
                        one.names().stream().map(name -> read.contains(name) ? name : "").toList(),
                        one.list()))
            .toList();
    return new Node(node.name(), node.target(), node.arguments(), outputs);
  }
}
