package io.vertigrad.engine.pytorch.graph;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.engine.pytorch.graph.ExportedProgram.Stored;
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
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Reads and writes files that {@code torch.export.save} wrote: without a number by PyTorch 2.14,
 * {@code -2.6} by PyTorch 2.6. {@code mlp-layout-2.8.pt2} was written by 2.14 in the layout of 2.8.
 */
class ExportArchiveTest {

  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "conv|1,16,16|6|11|11|linear",
        "lstm|7,4|6|7|6|linear",
        "mlp|8|6|6|9|linear_1",
        "mlp-2.6|8|6|6|9|linear_1",
        "mlp-layout-2.8|8|6|6|9|linear_1",
        "regression|5|6|5|5|squeeze",
        "resnet|3,16,16|6|39|56|linear",
        "transformer|12|4|37|29|linear_8",
      })
  void shouldReadProgramWhenPyTorchWroteIt(
      String name, String sample, int type, int nodes, int tensors, String output) {
    ExportedProgram program = read(name);

    assertEquals(
        List.of(sample.split(",")), program.sample().stream().map(String::valueOf).toList());
    assertEquals(OptionalLong.empty(), program.batch());
    assertEquals(type, program.input());
    assertEquals(nodes, program.graph().nodes().size());
    assertEquals(tensors, program.tensors().size());
    assertEquals(output, program.graph().output());
    assertEquals(List.of(), program.graph().updates());
    ExportArchive.check(ArchiveFixture.path(name + ".pt2"));
  }

  @Test
  void shouldReadArgumentsByTheNamesOfTheSchema() {
    Node norm = node(read("mlp"), "batch_norm");

    assertEquals("torch.ops.aten.batch_norm.default", norm.target());
    assertEquals(
        List.of(
            new Argument("input", new Reference("linear")),
            new Argument("weight", new Reference("p_b_weight")),
            new Argument("bias", new Reference("p_b_bias")),
            new Argument("running_mean", new Reference("b_b_running_mean")),
            new Argument("running_var", new Reference("b_b_running_var")),
            new Argument("training", new Constant(true)),
            new Argument("momentum", new Constant(0.1)),
            new Argument("eps", new Constant(1e-5)),
            new Argument("cudnn_enabled", new Constant(false))),
        norm.arguments());
    assertEquals(List.of(new Output(List.of("batch_norm"), false)), norm.outputs());
  }

  @Test
  void shouldReadSymbolsListsAndUnusedValues() {
    ExportedProgram program = read("lstm");

    assertEquals(
        new Elements(List.of(new Constant(1L), new Reference("sym_size_int_2"), new Constant(8L))),
        argument(program, "zeros", "size"));
    assertEquals(new Constant(new Type(6)), argument(program, "zeros", "dtype"));
    assertEquals(new Constant(new Place()), argument(program, "zeros", "device"));
    assertEquals(
        new Elements(List.of(new Reference("zeros"), new Reference("zeros_1"))),
        argument(program, "lstm", "hx"));
    assertEquals(
        List.of(
            new Output(List.of("getitem"), false),
            new Output(List.of(""), false),
            new Output(List.of(""), false)),
        node(program, "lstm").outputs());
    assertEquals(new Constant(Long.MAX_VALUE), argument(program, "slice_1", "end"));
    ExportedProgram transformer = read("transformer");
    assertEquals(
        List.of(new Output(List.of("getitem", "getitem_1", "getitem_2"), true)),
        node(transformer, "unbind").outputs());
    assertEquals(
        new Constant(null), argument(transformer, "scaled_dot_product_attention", "attn_mask"));
  }

  @Test
  void shouldReadInputsByTheirKinds() {
    List<Input> inputs = read("mlp").graph().inputs();

    assertEquals(new Input("p_a_weight", Kind.PARAMETER, "a.weight"), inputs.get(0));
    assertEquals(
        new Input("b_b_num_batches_tracked", Kind.BUFFER, "b.num_batches_tracked"), inputs.get(8));
    assertEquals(new Input("x", Kind.USER, "x"), inputs.get(9));
  }

  @Test
  void shouldReadValuesOfTensors() {
    Map<String, Stored> tensors = read("mlp").tensors();

    Stored weight = tensors.get("a.weight");
    assertEquals(List.of(16L, 8L), weight.shape());
    assertEquals(6, weight.type());
    assertTrue(weight.trained());
    assertEquals(16 * 8 * Float.BYTES, weight.values().remaining());
    Stored variance = tensors.get("b.running_var");
    assertFalse(variance.trained());
    assertArrayEquals(
        new float[] {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, floats(variance));
    Stored count = tensors.get("b.num_batches_tracked");
    assertEquals(4, count.type());
    assertEquals(List.of(), count.shape());
    assertEquals(0, count.values().getLong(0));
    assertArrayEquals(new float[] {0.5f}, floats(read("regression").tensors().get("k")));
  }

  /** All three come from the same seed. */
  @ParameterizedTest
  @ValueSource(strings = {"mlp-2.6", "mlp-layout-2.8"})
  void shouldReadTheSameValuesWhenTheyAreInAFileOfTorchSave(String name) {
    assertEquals(read("mlp").tensors(), read(name).tensors());
  }

  @Test
  void shouldReadOneTensorWhenItHasTwoNames() {
    Map<String, Stored> tensors = read("transformer").tensors();

    assertSame(tensors.get("e.weight"), tensors.get("o.weight"));
    assertNotSame(tensors.get("e.weight"), tensors.get("p.weight"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"strided", "strided-2.6"})
  void shouldReadContiguousValuesWhenTheyAreViews(String name) {
    Map<String, Stored> tensors = read(name).tensors();

    assertArrayEquals(new float[] {2, 4, 6}, floats(tensors.get("u")));
    assertArrayEquals(new float[] {2, 3, 4}, floats(tensors.get("v")));
    assertArrayEquals(new float[] {2, 2, 2}, floats(tensors.get("e")));
    assertSame(tensors.get("v"), tensors.get("t"));
    assertEquals(List.of(3L, 4L), tensors.get("w").shape());
    assertEquals(read("strided").tensors(), tensors);
  }

  /** Both {@code nn.Buffer}, which have attributes of Python, and one of them is not persistent. */
  @Test
  void shouldReadBuffersOfEveryKind() {
    ExportedProgram program = read("buffers-2.6");

    assertArrayEquals(new float[] {0.5f}, floats(program.tensors().get("k")));
    assertArrayEquals(new float[] {1, 1, 1}, floats(program.tensors().get("n")));
    assertArrayEquals(new float[] {3, 3, 3}, floats(program.tensors().get("m")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"infinity", "infinity-2.6"})
  void shouldReadInfinityWhenItIsNumberOrText(String name) {
    ExportedProgram program = read(name);

    assertEquals(new Constant(Double.NEGATIVE_INFINITY), argument(program, "masked_fill", "value"));
    assertEquals(new Constant(Double.POSITIVE_INFINITY), argument(program, "nan_to_num", "posinf"));
  }

  @Test
  void shouldReadConstantsWithTheNumbersOfAten() throws IOException {
    ExportedProgram program = withArgument("{\"as_layout\": 7}");
    assertEquals(new Constant(new Layout(0)), argument(program, "relu", "extra"));

    assertExtra(new Constant(new Memory(0)), "{\"as_memory_format\": 1}");
    assertExtra(new Constant(new Memory(1)), "{\"as_memory_format\": 4}");
    assertExtra(new Constant(new Layout(3)), "{\"as_layout\": 6}");
    assertExtra(new Constant(new Type(15)), "{\"as_scalar_type\": 13}");
    assertExtra(new Constant("gelu"), "{\"as_string\": \"gelu\"}");
    assertExtra(new Reference("linear"), "{\"as_sym_int\": {\"as_name\": \"linear\"}}");
    assertExtra(new Constant(3L), "{\"as_sym_int\": {\"as_int\": 3}}");
    assertExtra(new Constant(false), "{\"as_sym_bool\": {\"as_bool\": false}}");
    assertExtra(
        new Elements(List.of(new Constant(1.0), new Constant(Double.NaN))),
        "{\"as_floats\": [1, \"NaN\"]}");
    assertExtra(
        new Elements(List.of(new Constant(null), new Reference("x"))),
        "{\"as_optional_tensors\": [{\"as_none\": true}, {\"as_tensor\": {\"name\": \"x\"}}]}");
    assertExtra(
        new Elements(List.of(new Elements(List.of(new Reference("x"))))),
        "{\"as_nested_tensors\": [[{\"name\": \"x\"}]]}");
    assertExtra(
        new Elements(List.of(new Elements(List.of(new Constant(1L), new Constant(2L))))),
        "{\"as_int_lists\": [[1, 2]]}");
  }

  @Test
  void shouldReadTheBatchWhenItIsFixed() throws IOException {
    Path file =
        ArchiveFixture.of("mlp.pt2")
            .edit("models/model.json", json -> sizes(json, "x").set(0, fixed(7)).set(1, fixed(8)))
            .write(folder.resolve("fixed.pt2"));

    assertEquals(OptionalLong.of(7), ExportArchive.read(file).batch());
  }

  @Test
  void shouldReadOtherDimensionsAsUnknownWhenTheyVary() throws IOException {
    Path file =
        ArchiveFixture.of("mlp.pt2")
            .edit(
                "models/model.json", json -> sizes(json, "x").set(1, sizes(json, "x").getValue(0)))
            .write(folder.resolve("varying.pt2"));

    assertEquals(List.of(-1L), ExportArchive.read(file).sample());
  }

  @Test
  void shouldReadUpdatesOfBuffers() throws IOException {
    Path file =
        ArchiveFixture.of("mlp.pt2")
            .edit(
                "models/model.json",
                json ->
                    specs(json, "output_specs")
                        .add(
                            0,
                            new JsonObject(
                                "{\"buffer_mutation\": {\"arg\": {\"name\": \"linear\"},"
                                    + " \"buffer_name\": \"b.running_mean\"}}")))
            .write(folder.resolve("updates.pt2"));

    assertEquals(
        List.of(new Update("linear", "b.running_mean")),
        ExportArchive.read(file).graph().updates());
  }

  @Test
  void shouldReadCompressedEntries() throws IOException {
    Path file = folder.resolve("small.pt2");
    ArchiveFixture.write(file, ArchiveFixture.of("mlp-2.6.pt2").entries, ZipEntry.DEFLATED);

    assertEquals(read("mlp-2.6").tensors(), ExportArchive.read(file).tensors());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "conv",
        "lstm",
        "mlp",
        "mlp-2.6",
        "regression",
        "transformer",
        "strided",
        "strided-2.6",
        "infinity-2.6",
        "buffers-2.6"
      })
  void shouldReadTheSameProgramWhenItWasWrittenAgain(String name) throws IOException {
    ExportedProgram program = read(name);
    Path file = folder.resolve("again.pt2");

    ExportArchive.write(program, Map.of(), file);

    ExportedProgram again = ExportArchive.read(file);
    assertEquals(program.graph(), again.graph());
    assertEquals(program.tensors(), again.tensors());
    assertEquals(program.sample(), again.sample());
    Path other = folder.resolve("other.pt2");
    ExportArchive.write(again, Map.of(), other);
    assertEquals(-1, Files.mismatch(file, other));
  }

  @Test
  void shouldWriteNewValues() throws IOException {
    ExportedProgram program = read("transformer");
    ByteBuffer values = ByteBuffer.allocate(32 * 16 * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    values.putFloat(4, 2.5f);
    Path file = folder.resolve("new.pt2");

    ExportArchive.write(program, Map.of("o.weight", values), file);

    Map<String, Stored> tensors = ExportArchive.read(file).tensors();
    assertEquals(2.5f, floats(tensors.get("e.weight"))[1]);
    assertSame(tensors.get("e.weight"), tensors.get("o.weight"));
    assertEquals(program.tensors().get("p.weight"), tensors.get("p.weight"));
    assertEquals(0, values.position());
  }

  @Test
  void shouldWriteTheSameFileWhenValuesWereKeptElsewhere() throws IOException {
    ExportedProgram program = read("transformer");
    Map<String, ByteBuffer> values = new HashMap<>();
    program.tensors().forEach((name, stored) -> values.put(name, stored.values()));
    Path file = folder.resolve("file.pt2");
    Path other = folder.resolve("other.pt2");

    ExportedProgram without = program.without(values.keySet());

    assertFalse(without.tensors().get("e.weight").values().hasRemaining());
    ExportArchive.write(program, Map.of(), file);
    ExportArchive.write(without, values, other);
    assertEquals(-1, Files.mismatch(file, other));
  }

  @Test
  void shouldRefuseNewValuesWhenTheyDoNotFit() {
    ExportedProgram program = read("mlp");
    Path file = folder.resolve("none.pt2");

    assertEquals(
        "a.bias has 4 bytes, expected 64",
        assertThrows(
                IllegalArgumentException.class,
                () -> ExportArchive.write(program, Map.of("a.bias", ByteBuffer.allocate(4)), file))
            .getMessage());
    assertTrue(
        assertThrows(
                IllegalArgumentException.class,
                () -> ExportArchive.write(program, Map.of("bias", ByteBuffer.allocate(4)), file))
            .getMessage()
            .startsWith("bias is no tensor of the program, expected one of [a.weight, "));
    assertFalse(Files.exists(file));
  }

  private void assertExtra(Value expected, String argument) throws IOException {
    assertEquals(expected, argument(withArgument(argument), "relu", "extra"));
  }

  /** Reads a program whose relu has one more argument. */
  private ExportedProgram withArgument(String argument) throws IOException {
    Path file =
        ArchiveFixture.of("mlp.pt2")
            .edit(
                "models/model.json",
                json ->
                    nodes(json)
                        .getJsonObject(3)
                        .getJsonArray("inputs")
                        .add(
                            new JsonObject()
                                .put("name", "extra")
                                .put("arg", new JsonObject(argument))))
            .write(folder.resolve("argument.pt2"));
    return ExportArchive.read(file);
  }

  private static JsonObject graph(JsonObject json) {
    return json.getJsonObject("graph_module").getJsonObject("graph");
  }

  private static JsonArray nodes(JsonObject json) {
    return graph(json).getJsonArray("nodes");
  }

  private static JsonArray sizes(JsonObject json, String value) {
    return graph(json).getJsonObject("tensor_values").getJsonObject(value).getJsonArray("sizes");
  }

  private static JsonArray specs(JsonObject json, String kind) {
    return json.getJsonObject("graph_module").getJsonObject("signature").getJsonArray(kind);
  }

  private static JsonObject fixed(int size) {
    return new JsonObject().put("as_int", size);
  }

  private static ExportedProgram read(String name) {
    return ExportArchive.read(ArchiveFixture.path(name + ".pt2"));
  }

  private static Node node(ExportedProgram program, String name) {
    return program.graph().nodes().stream()
        .filter(node -> node.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static Value argument(ExportedProgram program, String node, String name) {
    return node(program, node).arguments().stream()
        .filter(argument -> argument.name().equals(name))
        .findFirst()
        .orElseThrow()
        .value();
  }

  private static float[] floats(Stored stored) {
    ByteBuffer values = stored.values().duplicate().order(ByteOrder.LITTLE_ENDIAN);
    float[] floats = new float[values.remaining() / Float.BYTES];
    values.asFloatBuffer().get(floats);
    return floats;
  }
}
