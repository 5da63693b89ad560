package io.vertigrad.engine.pytorch.graph;

import io.vertigrad.engine.pytorch.graph.ExportedProgram.Stored;
import io.vertigrad.engine.pytorch.graph.Graph.Argument;
import io.vertigrad.engine.pytorch.graph.Graph.Constant;
import io.vertigrad.engine.pytorch.graph.Graph.Elements;
import io.vertigrad.engine.pytorch.graph.Graph.Input;
import io.vertigrad.engine.pytorch.graph.Graph.Kind;
import io.vertigrad.engine.pytorch.graph.Graph.Node;
import io.vertigrad.engine.pytorch.graph.Graph.Output;
import io.vertigrad.engine.pytorch.graph.Graph.Reference;
import io.vertigrad.engine.pytorch.graph.Graph.Value;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Builds a network operation by operation, and what {@code torch.export} would write for it. The
 * first dimension of the input is the batch, which may have any size.
 */
final class ProgramBuilder {

  /** The size of the batch in shapes. */
  private static final long BATCH = -1;

  /** Numbers of ATen and of the schema of archives. */
  private static final int FLOAT = 6;

  private static final int LONG = 4;
  private static final int SCHEMA_FLOAT = 7;
  private static final int SCHEMA_LONG = 5;
  private static final int SCHEMA_STRIDED = 7;
  private static final int SCHEMA_MAJOR = 8;
  private static final int SCHEMA_MINOR = 8;
  private static final int OPSET = 10;
  private static final String TORCH = "2.9.0";

  private static final String SYMBOL = "s0";
  private static final String INPUT = "tokens";
  private static final String TENSOR = "as_tensor";
  private static final String NAME = "name";
  private static final String ARGUMENT = "arg";

  /** The positional kind of arguments. */
  private static final int POSITIONAL = 1;

  private final List<Input> parameters = new ArrayList<>();
  private final Map<String, Stored> tensors = new LinkedHashMap<>();
  private final List<Node> nodes = new ArrayList<>();
  private final Map<String, Integer> names = new HashMap<>();
  private final JsonObject values = new JsonObject();
  private Tensor input;

  /**
   * A tensor of the graph.
   *
   * @param name of the value
   * @param sizes its dimensions; -1 for the batch
   * @param strides elements from one index to the next, in each dimension
   * @param offset of its first element in the memory that it shares
   */
  record Tensor(String name, List<Long> sizes, List<Long> strides, long offset) {

    private static Tensor contiguous(String name, List<Long> sizes) {
      List<Long> strides = new ArrayList<>();
      long stride = 1;
      for (int i = sizes.size() - 1; i >= 0; i--) {
        strides.add(0, stride);
        stride = Math.multiplyExact(stride, Math.abs(sizes.get(i)));
      }
      return new Tensor(name, sizes, strides, 0);
    }
  }

  /** Adds the network's only input, ids of tokens. */
  Tensor tokens(int length) {
    input = Tensor.contiguous(INPUT, List.of(BATCH, (long) length));
    describe(input, SCHEMA_LONG, false);
    return input;
  }

  /**
   * Adds a trained parameter.
   *
   * @param name the module's name for it
   * @param numbers its initial values
   */
  Tensor parameter(String name, float[] numbers, long... sizes) {
    List<Long> shape = LongStream.of(sizes).boxed().toList();
    ByteBuffer bytes =
        ByteBuffer.allocate(Math.multiplyExact(numbers.length, Float.BYTES))
            .order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(numbers);
    tensors.put(name, new Stored(FLOAT, shape, bytes, true));
    Tensor tensor = Tensor.contiguous("p_" + name.replace('.', '_'), shape);
    parameters.add(new Input(tensor.name(), Kind.PARAMETER, name));
    describe(tensor, SCHEMA_FLOAT, true);
    return tensor;
  }

  /** Gives a parameter a second name. */
  void tie(String name, Tensor parameter) {
    String first =
        parameters.stream()
            .filter(known -> known.value().equals(parameter.name()))
            .findFirst()
            .orElseThrow()
            .tensor();
    tensors.put(name, tensors.get(first));
    String value = "p_" + name.replace('.', '_');
    parameters.add(new Input(value, Kind.PARAMETER, name));
    describe(new Tensor(value, parameter.sizes(), parameter.strides(), 0), SCHEMA_FLOAT, true);
  }

  Tensor embedding(Tensor weight, Tensor indices) {
    List<Long> sizes = new ArrayList<>(indices.sizes());
    sizes.add(last(weight));
    return node("embedding.default", sizes, read("weight", weight), read("indices", indices));
  }

  /** Adds two tensors, of which the second may lack the first dimensions. */
  Tensor add(Tensor one, Tensor other) {
    return node("add.Tensor", one.sizes(), read("self", one), read("other", other));
  }

  Tensor layerNorm(Tensor from, Tensor weight, Tensor bias, double epsilon) {
    return node(
        "layer_norm.default",
        from.sizes(),
        read("input", from),
        numbers("normalized_shape", last(from)),
        read("weight", weight),
        read("bias", bias),
        constant("eps", epsilon));
  }

  /** Multiplies by a matrix of shape {@code [outputs, inputs]}. */
  Tensor linear(Tensor from, Tensor weight) {
    return node(
        "linear.default", outputs(from, weight), read("input", from), read("weight", weight));
  }

  /** Multiplies by a matrix of shape {@code [outputs, inputs]} and adds a bias. */
  Tensor linear(Tensor from, Tensor weight, Tensor bias) {
    return node(
        "linear.default",
        outputs(from, weight),
        read("input", from),
        read("weight", weight),
        read("bias", bias));
  }

  private static List<Long> outputs(Tensor from, Tensor weight) {
    List<Long> sizes = new ArrayList<>(from.sizes());
    sizes.set(sizes.size() - 1, weight.sizes().get(0));
    return sizes;
  }

  Tensor gelu(Tensor from) {
    return node("gelu.default", from.sizes(), read("self", from));
  }

  /** Adds a dropout, as a module in training mode has it; nothing where the share is 0. */
  Tensor dropout(Tensor from, double share) {
    return share == 0
        ? from
        : node(
            "dropout.default",
            from.sizes(),
            read("input", from),
            constant("p", share),
            constant("train", true));
  }

  /** Views or copies a tensor in another shape, -1 for the batch. */
  Tensor reshape(Tensor from, long... sizes) {
    return node(
        "reshape.default",
        LongStream.of(sizes).boxed().toList(),
        read("self", from),
        numbers("shape", sizes));
  }

  Tensor permute(Tensor from, int... dimensions) {
    Tensor permuted =
        new Tensor(
            fresh("permute"),
            IntStream.of(dimensions).mapToObj(from.sizes()::get).toList(),
            IntStream.of(dimensions).mapToObj(from.strides()::get).toList(),
            from.offset());
    add(
        "permute.default",
        List.of(
            read("self", from), numbers("dims", IntStream.of(dimensions).asLongStream().toArray())),
        permuted);
    return permuted;
  }

  /** Splits a tensor along its first dimension. */
  List<Tensor> unbind(Tensor from) {
    int rank = from.sizes().size();
    List<Tensor> parts =
        LongStream.range(0, from.sizes().get(0))
            .mapToObj(
                i ->
                    new Tensor(
                        fresh("getitem"),
                        from.sizes().subList(1, rank),
                        from.strides().subList(1, rank),
                        from.offset() + i * from.strides().get(0)))
            .toList();
    parts.forEach(part -> describe(part, SCHEMA_FLOAT, false));
    nodes.add(
        new Node(
            fresh("unbind"),
            "torch.ops.aten.unbind.int",
            List.of(read("self", from)),
            List.of(new Output(parts.stream().map(Tensor::name).toList(), true))));
    return parts;
  }

  /**
   * Adds attention in which no position sees a later one, without dropout.
   *
   * @param parts query, key and value, each {@code [batch, heads, positions, width]}
   */
  Tensor causalAttention(List<Tensor> parts) {
    List<Long> sizes = parts.get(0).sizes();
    // The operator's result lies in memory as [batch, positions, heads, width].
    Tensor swapped =
        Tensor.contiguous("", List.of(sizes.get(0), sizes.get(2), sizes.get(1), sizes.get(3)));
    List<Long> strides = swapped.strides();
    Tensor attention =
        new Tensor(
            fresh("scaled_dot_product_attention"),
            sizes,
            List.of(strides.get(0), strides.get(2), strides.get(1), strides.get(3)),
            0);
    add(
        "scaled_dot_product_attention.default",
        List.of(
            read("query", parts.get(0)),
            read("key", parts.get(1)),
            read("value", parts.get(2)),
            constant("attn_mask", null),
            constant("dropout_p", 0.0),
            constant("is_causal", true)),
        attention);
    return attention;
  }

  /** Keeps the last index of the second dimension. */
  Tensor lastPosition(Tensor from) {
    long positions = from.sizes().get(1);
    List<Long> sizes = new ArrayList<>(from.sizes());
    List<Long> strides = new ArrayList<>(from.strides());
    sizes.remove(1);
    strides.remove(1);
    long offset = from.offset() + (positions - 1) * from.strides().get(1);
    Tensor last = new Tensor(fresh("select"), sizes, strides, offset);
    add(
        "select.int",
        List.of(read("self", from), constant("dim", 1L), constant("index", positions - 1)),
        last);
    return last;
  }

  private Tensor node(String operator, List<Long> sizes, Argument... arguments) {
    Tensor result = Tensor.contiguous(fresh(operator.replaceAll("\\..*", "")), sizes);
    add(operator, List.of(arguments), result);
    return result;
  }

  private void add(String operator, List<Argument> arguments, Tensor result) {
    describe(result, SCHEMA_FLOAT, false);
    nodes.add(
        new Node(
            result.name(),
            "torch.ops.aten." + operator,
            arguments,
            List.of(new Output(List.of(result.name()), false))));
  }

  private String fresh(String name) {
    int before = names.merge(name, 1, Integer::sum) - 1;
    return before == 0 ? name : name + "_" + before;
  }

  private static long last(Tensor tensor) {
    return tensor.sizes().get(tensor.sizes().size() - 1);
  }

  private static Argument read(String name, Tensor tensor) {
    return new Argument(name, new Reference(tensor.name()));
  }

  private static Argument constant(String name, Object value) {
    return new Argument(name, new Constant(value));
  }

  private static Argument numbers(String name, long... numbers) {
    return new Argument(
        name, new Elements(LongStream.of(numbers).<Value>mapToObj(Constant::new).toList()));
  }

  private void describe(Tensor tensor, int type, boolean trained) {
    JsonArray sizes = new JsonArray();
    tensor.sizes().forEach(size -> sizes.add(size == BATCH ? symbol() : whole(size)));
    JsonArray strides = new JsonArray();
    tensor.strides().forEach(stride -> strides.add(whole(stride)));
    values.put(
        tensor.name(),
        JsonObject.of(
                "dtype",
                type,
                "sizes",
                sizes,
                "requires_grad",
                trained,
                "device",
                new JsonObject().put("type", "cpu").putNull("index"),
                "strides",
                strides)
            .put("storage_offset", whole(tensor.offset()))
            .put("layout", SCHEMA_STRIDED));
  }

  private static JsonObject whole(long number) {
    return JsonObject.of("as_int", number);
  }

  private static JsonObject symbol() {
    return JsonObject.of(
        "as_expr",
        JsonObject.of(
            "expr_str",
            "Symbol('%s', positive=True, integer=True)".formatted(SYMBOL),
            "hint",
            whole(2)));
  }

  /** Returns the network that puts out a tensor. */
  ExportedProgram build(Tensor output) {
    List<Input> inputs = new ArrayList<>(parameters);
    inputs.add(new Input(input.name(), Kind.USER, input.name()));
    Graph graph = new Graph(inputs, nodes, output.name(), List.of());
    List<Long> sample = input.sizes().subList(1, input.sizes().size());
    return new ExportedProgram(graph, tensors, sample, OptionalLong.empty(), LONG, source(graph));
  }

  private JsonObject source(Graph graph) {
    JsonArray inputs = new JsonArray();
    JsonArray specifications = new JsonArray();
    for (Input each : graph.inputs()) {
      inputs.add(tensor(each.value()));
      specifications.add(
          each.kind() == Kind.USER
              ? JsonObject.of("user_input", JsonObject.of(ARGUMENT, tensor(each.value())))
              : JsonObject.of(
                  "parameter",
                  JsonObject.of(
                      ARGUMENT,
                      JsonObject.of(NAME, each.value()),
                      "parameter_name",
                      each.tensor())));
    }
    JsonArray written = new JsonArray();
    graph.nodes().forEach(node -> written.add(json(node)));
    JsonArray outputs = JsonArray.of(tensor(graph.output()));
    JsonArray results =
        JsonArray.of(JsonObject.of("user_output", JsonObject.of(ARGUMENT, tensor(graph.output()))));
    JsonObject body =
        JsonObject.of("inputs", inputs, "outputs", outputs, "nodes", written)
            .put("tensor_values", values)
            .put("sym_int_values", new JsonObject())
            .put("sym_bool_values", new JsonObject())
            .put("is_single_tensor_return", false)
            .put("custom_obj_values", new JsonObject())
            .put("sym_float_values", new JsonObject());
    JsonObject module =
        new JsonObject()
            .put("graph", body)
            .put("signature", JsonObject.of("input_specs", specifications, "output_specs", results))
            .put("module_call_graph", JsonArray.of(call()))
            .put("metadata", new JsonObject())
            .put("treespec_namedtuple_fields", new JsonObject());
    return new JsonObject()
        .put("graph_module", module)
        .put("opset_version", JsonObject.of("aten", OPSET))
        .put(
            "range_constraints",
            JsonObject.of(SYMBOL, new JsonObject().put("min_val", 1).putNull("max_val")))
        .put("schema_version", JsonObject.of("major", SCHEMA_MAJOR, "minor", SCHEMA_MINOR))
        .put("verifiers", JsonArray.of("TRAINING"))
        .put("torch_version", TORCH)
        .put("guards_code", new JsonArray());
  }

  /** Returns how the network is called: with one argument, for one result. */
  private static JsonObject call() {
    String leaf = "{\"type\": null, \"context\": null, \"children_spec\": []}";
    String arguments =
        "{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [%s]}"
            .formatted(leaf);
    String named = "{\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}";
    return JsonObject.of(
        "fqn",
        "",
        "signature",
        JsonObject.of(
            "inputs",
            new JsonArray(),
            "outputs",
            new JsonArray(),
            "in_spec",
            "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [%s, %s]}]"
                .formatted(arguments, named),
            "out_spec",
            "[1, %s]".formatted(leaf),
            "forward_arg_names",
            JsonArray.of(INPUT)));
  }

  private static JsonObject json(Node node) {
    JsonArray inputs = new JsonArray();
    for (Argument each : node.arguments()) {
      inputs.add(
          JsonObject.of(NAME, each.name(), ARGUMENT, json(each.value()), "kind", POSITIONAL));
    }
    Output output = node.outputs().get(0);
    JsonArray named = new JsonArray();
    output.names().forEach(name -> named.add(JsonObject.of(NAME, name)));
    return JsonObject.of("target", node.target(), "inputs", inputs)
        .put(
            "outputs",
            JsonArray.of(
                output.list()
                    ? JsonObject.of("as_tensors", named)
                    : JsonObject.of(TENSOR, named.getValue(0))))
        .put("metadata", new JsonObject())
        .putNull("is_hop_single_tensor_return")
        .put(NAME, node.name());
  }

  private static JsonObject json(Value value) {
    if (value instanceof Reference read) {
      return tensor(read.value());
    }
    if (value instanceof Elements elements) {
      JsonArray numbers = new JsonArray();
      elements.elements().forEach(one -> numbers.add(((Constant) one).value()));
      return JsonObject.of("as_ints", numbers);
    }
    Object constant = ((Constant) value).value();
    if (constant == null) {
      return JsonObject.of("as_none", true);
    }
    if (constant instanceof Boolean) {
      return JsonObject.of("as_bool", constant);
    }
    return JsonObject.of(constant instanceof Long ? "as_int" : "as_float", constant);
  }

  private static JsonObject tensor(String name) {
    return JsonObject.of(TENSOR, JsonObject.of(NAME, name));
  }
}
