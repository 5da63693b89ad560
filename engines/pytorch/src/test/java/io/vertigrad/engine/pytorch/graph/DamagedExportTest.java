package io.vertigrad.engine.pytorch.graph;

import static io.vertigrad.engine.pytorch.graph.ArchiveFixture.assertRefused;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.engine.testing.FileMutants;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads archives that are damaged, hostile, or hold what cannot be run here. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class DamagedExportTest {

  private static final String PROGRAM = "models/model.json";
  private static final String CONFIG = "model_weights_config.json";
  private static final byte[] BYTES = "{}[],:\"0123456789-tfn".getBytes(StandardCharsets.UTF_8);

  @TempDir private Path folder;

  @Test
  void shouldRefuseAFileWhenItIsNoArchive() throws IOException {
    assertRefused(folder.resolve("none.pt2"), "no such file, expected a program of torch.export;");
    assertRefused(folder, "no such file, expected a program of torch.export;");
    assertRefused(write(new byte[0]), "is empty, expected a program of torch.export;");
    assertRefused(write("P".getBytes(StandardCharsets.UTF_8)), "is no zip file;");
    assertRefused(write("PKxyz".getBytes(StandardCharsets.UTF_8)), "is damaged or was cut short");
    assertRefused(
        new ArchiveFixture().put("a", new byte[1]).write(file()),
        "is a zip without archive_format and serialized_exported_program.json, expected a program");
    assertRefused(
        new ArchiveFixture()
            .put("a/data.pkl", new byte[1])
            .put("a/code/__torch__.py", new byte[1])
            .write(file()),
        "is a TorchScript module, expected a program of torch.export;");
    assertRefused(
        ArchiveFixture.of("mlp.pt2")
            .remove(PROGRAM)
            .put("mlp/data/aotinductor/model/x.so", new byte[1])
            .write(file()),
        "is compiled by AOTInductor and has no graph, expected a program of torch.export;");
  }

  @Test
  void shouldRefuseAnArchiveWhenItIsCut() throws IOException {
    byte[] whole = Files.readAllBytes(ArchiveFixture.path("mlp.pt2"));
    for (int length = 2; length < whole.length; length += 511) {
      assertRefused(write(Arrays.copyOf(whole, length)), "is damaged or was cut short (");
    }
  }

  @ParameterizedTest
  @CsvSource({"mlp.pt2,data/weights/weight_0", "mlp.pt2,models/model.json"})
  void shouldRefuseAnArchiveWhenOneByteOfAnEntryIsFlipped(String name, String entry)
      throws IOException {
    byte[] whole = Files.readAllBytes(ArchiveFixture.path(name));
    flip(whole, ArchiveFixture.of(name).entries.get("mlp/" + entry));

    assertRefused(write(whole), "is damaged: mlp/" + entry + " has checksum ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "models/model.json",
        "data/weights/weight_3",
        "data/weights/model_weights_config.json",
        "data/constants/model_constants_config.json"
      })
  void shouldRefuseAnArchiveWhenAnEntryIsMissing(String entry) throws IOException {
    assertRefused(
        ArchiveFixture.of("mlp.pt2").remove(entry).write(file()),
        entry.startsWith("models") ? "has 0 programs in models/" : "has no mlp/" + entry);
  }

  @Test
  void shouldRefuseAnOldArchiveWhenAnEntryIsMissing() throws IOException {
    for (String entry : new String[] {"serialized_state_dict.pt", "serialized_constants.pt"}) {
      assertRefused(
          ArchiveFixture.of("mlp-2.6.pt2").remove(entry).write(file()), "has no " + entry + ":");
    }
  }

  @Test
  void shouldRefuseAnArchiveWhenItsFormatIsAnotherOne() throws IOException {
    assertEntry("archive_format", "pt3", "has \"pt3\" in archive_format, expected \"pt2\"");
    assertEntry("archive_version", "1", "has \"1\" in archive_version, expected \"0\", what");
    assertEntry("byteorder", "big", "has \"big\" in byteorder, expected \"little\", an archive");
    assertRefused(
        ArchiveFixture.of("mlp.pt2").put("mlp/models/other.json", new byte[0]).write(file()),
        "has 2 programs in models/, expected one: save each in a file of its own");
    assertProgram(
        json -> json.getJsonObject("schema_version").put("major", 9),
        "has schema 9.20 of PyTorch 2.14.1+debian, expected 8.x of PyTorch 2.6 to 2.14: export it");
    assertProgram(
        json -> json.remove("schema_version"), "models/model.json: has no schema_version");
  }

  @Test
  void shouldRefuseAProgramWhenItIsNoJson() throws IOException {
    assertEntry(PROGRAM, "", "models/model.json: is empty, expected one object");
    assertEntry(PROGRAM, "[1]", "models/model.json: is a list, expected an object");
    assertEntry(PROGRAM, "{\"a\": ", "models/model.json: line 1, column 7: not valid JSON: ");
    assertEntry(PROGRAM, "{\"a\": 1, \"a\": 2}", "a is given twice");
    assertEntry(PROGRAM, "[".repeat(1_000_000), "nesting depth");
    assertEntry(PROGRAM, "{\"a\":".repeat(1_000_000), "nesting depth");
    assertEntry(PROGRAM, "[" + "1,".repeat(1 << 21) + "1]", "found more than 2097152 values");
    assertEntry(PROGRAM, "1".repeat(2_000), "Number value length");
    ArchiveFixture invalid = ArchiveFixture.of("mlp.pt2");
    invalid.entries.put("mlp/models/model.json", new byte[] {'"', (byte) 0xff, '"'});
    assertRefused(invalid.write(file()), "0xff, which is not UTF-8");
  }

  @Test
  void shouldRefuseAProgramWhenAValueHasAnotherKind() throws IOException {
    String input = "graph_module.graph.nodes[0].inputs[0]";
    assertProgram(
        json -> argument(json, 2, 6, "{\"as_float\": \"0.1\"}"),
        "as_float is \"0.1\", expected a number");
    assertProgram(
        json -> argument(json, 2, 6, "{\"as_int\": \"NaN\"}"),
        "is \"NaN\", expected a whole number");
    assertProgram(
        json -> argument(json, 2, 6, "{\"as_int\": 1.5}"), "is 1.5, expected a whole number");
    assertProgram(
        json -> argument(json, 2, 6, "{\"as_int\": 92233720368547758070}"),
        "is 92233720368547758070, expected a whole number of 64 bits");
    assertProgram(json -> argument(json, 2, 6, "{\"as_bool\": 1}"), "is 1, expected true or false");
    assertProgram(
        json -> argument(json, 2, 6, "{\"as_ints\": 1}"), "as_ints is 1, expected a list");
    assertProgram(
        json -> argument(json, 2, 6, "{\"as_tensor\": \"x\"}"), "is \"x\", expected an object");
    assertProgram(
        json -> argument(json, 2, 6, "{\"as_scalar_type\": 99}"), "is 99, expected a type of the");
    assertProgram(
        json -> argument(json, 2, 6, "{\"as_layout\": 8}"), "is 8, expected a number from 1 to 7");
    assertProgram(
        json -> argument(json, 2, 6, "{\"as_memory_format\": 0}"),
        "is 0, expected a number from 1 to 4");
    assertProgram(json -> argument(json, 2, 6, "{}"), "has 0 keys, expected one: it is damaged");
    assertProgram(
        json -> argument(json, 2, 6, "{\"as_future\": 1}"),
        "expected a kind of argument that PyTorch 2.6 to 2.14 know");
    assertProgram(
        json -> node(json, 0).getJsonArray("inputs").getJsonObject(0).remove("arg"),
        "node linear (torch.ops.aten.linear.default) models/model.json: " + input + " has no arg");
    assertProgram(
        json -> graph(json).put("nodes", new JsonObject()), "nodes is an object, expected a list");
  }

  @Test
  void shouldRefuseAProgramWhenNamesOfValuesAreWrong() throws IOException {
    assertProgram(
        json -> argument(json, 0, 0, "{\"as_tensor\": {\"name\": \"relu\"}}"),
        "node linear (torch.ops.aten.linear.default) models/model.json: graph_module.graph.nodes[0]"
            + ".inputs[0].arg.as_tensor.name is \"relu\", expected the name of an input or of an"
            + " earlier node's value");
    assertProgram(
        json -> argument(json, 0, 0, "{\"as_sym_ints\": [{\"as_name\": \"none\"}]}"),
        "is \"none\", expected the name of an input");
    assertProgram(
        json -> output(json, 3, "{\"as_tensor\": {\"name\": \"linear\"}}"),
        "is \"linear\", expected a name that no other value has");
    assertProgram(
        json -> output(json, 3, "{\"as_tensor\": {\"name\": \"\"}}"), "is \"\", expected a name");
    assertProgram(
        json -> spec(json, "input_specs", 0, "parameter").getJsonObject("arg").put("name", "x"),
        "is \"x\", expected a name that no other value has");
    assertProgram(
        json ->
            spec(json, "output_specs", 0, "user_output")
                .put("arg", new JsonObject("{\"as_tensor\": {\"name\": \"none\"}}")),
        "is \"none\", expected the name of an input");
  }

  @Test
  void shouldRefuseANodeWhenItCannotRunHere() throws IOException {
    assertProgram(
        json -> node(json, 3).put("target", "torch.ops.higher_order.cond"),
        "node relu (torch.ops.higher_order.cond) runs a graph of its own");
    assertProgram(
        json -> argument(json, 3, 0, "{\"as_graph\": {\"name\": \"g\", \"graph\": {}}}"),
        "node relu (torch.ops.aten.relu.default) runs a graph of its own");
    assertProgram(
        json -> node(json, 3).put("target", "torch.ops.mine.twice.default"),
        "node relu (torch.ops.mine.twice.default) is a custom operation, expected operators of");
    for (String kind : new String[] {"as_custom_obj", "as_operator", "as_complex"}) {
      assertProgram(
          json -> argument(json, 3, 0, "{\"" + kind + "\": {}}"),
          "node relu (torch.ops.aten.relu.default) takes an argument " + kind + ", expected");
    }
    assertProgram(
        json -> output(json, 3, "{\"as_custom_obj\": {}}"),
        "node relu (torch.ops.aten.relu.default) returns as_custom_obj, expected tensors");
  }

  @Test
  void shouldRefuseASignatureWhenItIsNoNetworkWithABatch() throws IOException {
    JsonObject second =
        new JsonObject("{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"y\"}}}}");
    assertProgram(
        json -> specs(json, "input_specs").add(second),
        "takes 2 inputs (x, y), expected one tensor, the batch");
    assertProgram(
        json -> specs(json, "input_specs").remove(9), "takes 0 inputs, expected one tensor");
    assertProgram(
        json ->
            spec(json, "input_specs", 9, "user_input")
                .put("arg", new JsonObject("{\"as_sym_int\": {\"as_name\": \"n\"}}")),
        "takes an input that is no tensor (as_sym_int), expected one tensor");
    assertProgram(
        json ->
            specs(json, "input_specs")
                .set(0, new JsonObject("{\"custom_obj\": {\"custom_obj_name\": \"queue\"}}")),
        "has the custom object queue as an input, expected tensors");
    assertProgram(
        json -> specs(json, "input_specs").set(0, new JsonObject("{\"token\": {}}")),
        "has operators with side effects");
    assertProgram(
        json -> specs(json, "input_specs").set(0, new JsonObject("{\"future\": {}}")),
        "expected a kind of input that PyTorch 2.6 to 2.14 know");
    assertProgram(
        json -> specs(json, "output_specs").add(specs(json, "output_specs").getValue(0)),
        "puts out 2 values, expected one tensor: return only the output that is trained");
    assertProgram(
        json ->
            spec(json, "output_specs", 0, "user_output")
                .put("arg", new JsonObject("{\"as_none\": true}")),
        "puts out a value that is no tensor (as_none), expected one tensor");
    for (String kind : new String[] {"loss_output", "gradient_to_parameter"}) {
      assertProgram(
          json -> outputSpec(json, kind), "computes its loss and gradients itself (" + kind + ")");
    }
    assertProgram(
        json -> outputSpec(json, "parameter_mutation"), "changes a parameter in place, expected");
    assertProgram(
        json -> outputSpec(json, "user_input_mutation"), "changes its input in place, expected");
    assertProgram(json -> outputSpec(json, "future"), "expected a kind of output that");
  }

  @Test
  void shouldRefuseAnInputWhenItHasNoBatch() throws IOException {
    assertProgram(
        json -> meta(json, "x").put("sizes", new JsonArray()),
        "takes a number as its input x, expected a tensor whose first dimension is the batch");
    assertProgram(
        json -> meta(json, "x").put("sizes", new JsonArray("[{\"as_int\": -3}]")),
        "is -3, expected a dimension of at least 1");
    assertProgram(
        json ->
            meta(json, "x").put("sizes", new JsonArray("[{\"as_expr\": {\"expr_str\": \"x\"}}]")),
        "is \"x\", expected an expression with a symbol");
    assertProgram(json -> graph(json).getJsonObject("tensor_values").remove("x"), "has no x");
  }

  @Test
  void shouldRefuseParametersWhenTheyCannotBeTrained() throws IOException {
    ArchiveFixture doubles = ArchiveFixture.of("regression.pt2");
    doubles.edit(
        CONFIG, json -> tensor(json, "a.bias").getJsonObject("tensor_meta").put("dtype", 8));
    doubles.put(doubles.named("weights/weight_1"), new byte[12 * Double.BYTES]);
    assertRefused(
        doubles.write(file()),
        "parameter a.bias is of float64, expected float32: export it after net.float()");
    ArchiveFixture frozen = ArchiveFixture.of("regression.pt2");
    assertRefused(
        frozen.replace(CONFIG, "\"requires_grad\": true", "\"requires_grad\": false").write(file()),
        "has no parameters to train");
  }

  @Test
  void shouldRefuseATensorWhenItsNumbersLie() throws IOException {
    String shape = "[{\"as_int\": %s}, {\"as_int\": %s}]";
    assertTensor("sizes", shape.formatted(17, 8), "has 512 bytes for a.weight, expected 544 to");
    assertTensor("sizes", shape.formatted(8, 8), "but its graph takes float32 of shape [16, 8]");
    assertTensor("sizes", shape.formatted(-1, 8), "which no storage can hold");
    assertTensor("sizes", shape.formatted(1L << 40, 1L << 40), "which no storage can hold");
    assertTensor("sizes", "[{\"as_int\": 8}]", "which no storage can hold");
    assertTensor("strides", shape.formatted(Long.MAX_VALUE, 1), "which no storage can hold");
    assertTensor("strides", shape.formatted(-8, 1), "which no storage can hold");
    assertTensor("strides", shape.formatted(9, 1), "has 512 bytes for a.weight, expected 572 to");
    assertTensor("storage_offset", "{\"as_int\": 1}", "expected 516 to");
    assertTensor("storage_offset", "{\"as_int\": -1}", "which no storage can hold");
    assertTensor(
        "storage_offset", "{\"as_int\": 9223372036854775807}", "which no storage can hold");
    assertTensor("storage_offset", "{\"as_expr\": {\"expr_str\": \"1\"}}", "has no as_int");
    assertTensor("dtype", "8", "has 512 bytes for a.weight, expected 1,024 to");
    assertTensor("dtype", "77", "is 77, expected a type of the schema");
    assertTensor("layout", "1", "is 1, expected 7, a dense tensor");
  }

  /** A tensor that repeats one element takes memory that the file does not have. */
  @Test
  void shouldRefuseTensorsWhenTheyTakeMoreMemoryThanTheFile() throws IOException {
    String zero = "[{\"as_int\": 0}, {\"as_int\": 0}]";
    ArchiveFixture large = ArchiveFixture.of("mlp.pt2");
    String sizes = "[{\"as_int\": 16384}, {\"as_int\": 8192}]";
    for (String kind : new String[] {CONFIG, PROGRAM}) {
      large.edit(
          kind,
          json -> {
            JsonObject meta =
                kind.equals(CONFIG)
                    ? tensor(json, "a.weight").getJsonObject("tensor_meta")
                    : meta(json, "p_a_weight");
            meta.put("strides", new JsonArray(zero)).put("sizes", new JsonArray(sizes));
          });
    }
    assertRefused(large.write(file()), "has tensors that share memory and have more than 268,");
    large.edit(
        CONFIG,
        json ->
            tensor(json, "a.weight")
                .getJsonObject("tensor_meta")
                .put("sizes", new JsonArray("[{\"as_int\": 1048576}, {\"as_int\": 1048576}]")));
    assertRefused(large.write(file()), "has 512 bytes for a.weight, expected 4 to 2,147,483,639");
  }

  @Test
  void shouldRefuseAConfigurationWhenItNamesNoTensor() throws IOException {
    assertRefused(
        ArchiveFixture.of("mlp.pt2")
            .edit(CONFIG, json -> json.getJsonObject("config").remove("c.bias"))
            .write(file()),
        "has no values for c.bias: it is damaged");
    assertRefused(
        ArchiveFixture.of("mlp.pt2")
            .edit(CONFIG, json -> tensor(json, "c.bias").put("use_pickle", true))
            .write(file()),
        "has c.bias as a Python object, expected a plain tensor");
    assertRefused(
        ArchiveFixture.of("mlp.pt2")
            .edit(CONFIG, json -> tensor(json, "c.bias").put("path_name", "../../x"))
            .write(file()),
        "has no mlp/data/weights/../../x: it is damaged");
  }

  @Test
  void shouldRefuseAFileOfTorchSaveWhenItIsDamaged() throws IOException {
    ArchiveFixture old = ArchiveFixture.of("mlp-2.6.pt2");
    byte[] whole = old.entries.get("serialized_state_dict.pt");
    old.put("serialized_state_dict.pt", Arrays.copyOf(whole, whole.length / 2));
    assertRefused(old.write(file()), "serialized_state_dict.pt is damaged or was cut short (");
    old.put("serialized_state_dict.pt", new byte[0]);
    assertRefused(old.write(file()), "has no values for a.weight: it is damaged");
    old.put("serialized_state_dict.pt", whole.clone());
    byte[] weight = ArchiveFixture.of("mlp.pt2").entries.get("mlp/data/weights/weight_0");
    flip(old.entries.get("serialized_state_dict.pt"), weight);
    assertRefused(
        old.write(file()), "serialized_state_dict.pt is damaged: archive/data/0 has checksum ");
  }

  @Test
  @Tag("slow")
  void shouldReadOrRefuseWhenAFileIsDamaged() throws Exception {
    for (String name : new String[] {"mlp.pt2", "mlp-2.6.pt2", "mlp-layout-2.8.pt2"}) {
      Path file = folder.resolve(name);
      Files.copy(ArchiveFixture.path(name), file);

      int refused = FileMutants.read(file, 1, "model " + file + ": ", ExportArchiveFuzz::read);

      assertTrue(refused > FileMutants.count() / 2, refused + " were refused");
    }
  }

  /** Changes bytes of an entry whose checksum is right again, so that its content is read. */
  @Test
  @Tag("slow")
  void shouldReadOrRefuseWhenContentIsChanged() throws IOException {
    SplittableRandom random = new SplittableRandom(7);
    String[][] parts = {
      {"mlp.pt2", PROGRAM}, {"mlp.pt2", CONFIG}, {"mlp-2.6.pt2", "serialized_exported_program.json"}
    };
    int refused = 0;
    int count = 0;
    for (String[] part : parts) {
      ArchiveFixture archive = ArchiveFixture.of(part[0]);
      String entry = archive.named(part[1]);
      byte[] whole = archive.entries.get(entry);
      for (int i = 0; i < 100; i++, count++) {
        byte[] changed = whole.clone();
        for (int n = 1 + random.nextInt(3); n > 0; n--) {
          changed[random.nextInt(changed.length)] = BYTES[random.nextInt(BYTES.length)];
        }
        archive.put(entry, changed);
        refused += ExportArchiveFuzz.refused(archive.write(file())) ? 1 : 0;
      }
    }
    assertTrue(refused > count / 3, refused + " of " + count);
  }

  /** Reads a file that may be damaged. */
  private static final class ExportArchiveFuzz {

    static void read(Path file) {
      ExportArchive.read(file);
    }

    static boolean refused(Path file) {
      try {
        ExportArchive.read(file);
        return false;
      } catch (IllegalArgumentException e) {
        assertRefused(file, "");
        return true;
      }
    }
  }

  private void assertEntry(String end, String content, String expected) throws IOException {
    ArchiveFixture archive = ArchiveFixture.of("mlp.pt2");
    archive.put(archive.named(end), content.getBytes(StandardCharsets.UTF_8));
    assertRefused(archive.write(file()), expected);
  }

  private void assertProgram(Consumer<JsonObject> change, String expected) throws IOException {
    assertRefused(ArchiveFixture.of("mlp.pt2").edit(PROGRAM, change).write(file()), expected);
  }

  private void assertTensor(String key, String value, String expected) throws IOException {
    Object parsed =
        switch (value.charAt(0)) {
          case '[' -> new JsonArray(value);
          case '{' -> new JsonObject(value);
          default -> Integer.valueOf(value);
        };
    assertRefused(
        ArchiveFixture.of("mlp.pt2")
            .edit(
                CONFIG,
                json -> tensor(json, "a.weight").getJsonObject("tensor_meta").put(key, parsed))
            .write(file()),
        expected);
  }

  /** Changes a bit in the place of a file where these bytes are. */
  private static void flip(byte[] file, byte[] part) {
    int at = 0;
    while (!Arrays.equals(file, at, at + part.length, part, 0, part.length)) {
      at++;
    }
    file[at + part.length / 2] ^= 1;
  }

  private Path write(byte[] bytes) throws IOException {
    return Files.write(file(), bytes);
  }

  private Path file() {
    return folder.resolve("model.pt2");
  }

  private static JsonObject tensor(JsonObject config, String name) {
    return config.getJsonObject("config").getJsonObject(name);
  }

  private static JsonObject graph(JsonObject json) {
    return json.getJsonObject("graph_module").getJsonObject("graph");
  }

  private static JsonObject meta(JsonObject json, String value) {
    return graph(json).getJsonObject("tensor_values").getJsonObject(value);
  }

  private static JsonObject node(JsonObject json, int index) {
    return graph(json).getJsonArray("nodes").getJsonObject(index);
  }

  private static void argument(JsonObject json, int node, int index, String argument) {
    node(json, node)
        .getJsonArray("inputs")
        .getJsonObject(index)
        .put("arg", new JsonObject(argument));
  }

  private static void output(JsonObject json, int node, String output) {
    node(json, node).getJsonArray("outputs").set(0, new JsonObject(output));
  }

  private static JsonArray specs(JsonObject json, String kind) {
    return json.getJsonObject("graph_module").getJsonObject("signature").getJsonArray(kind);
  }

  private static JsonObject spec(JsonObject json, String list, int index, String kind) {
    return specs(json, list).getJsonObject(index).getJsonObject(kind);
  }

  private static void outputSpec(JsonObject json, String kind) {
    specs(json, "output_specs")
        .set(0, new JsonObject().put(kind, new JsonObject("{\"arg\": {\"name\": \"linear\"}}")));
  }
}
