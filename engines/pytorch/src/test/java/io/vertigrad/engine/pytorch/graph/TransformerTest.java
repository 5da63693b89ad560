package io.vertigrad.engine.pytorch.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.formats.SafetensorsFile;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares the built-in transformer with a module that PyTorch trained (built-in-transformer.py).
 */
class TransformerTest {

  private static final int LENGTH = 6;
  private static final int TOKENS = 11;
  private static final long SEED = 7;
  private static final float RATE = 0.1f;
  private static final Map<String, Object> OPTIONS = Map.of("layers", 2, "heads", 2, "width", 8);

  /**
   * Writes the initial parameters for built-in-transformer.py.
   *
   * @param arguments the file
   */
  public static void main(String[] arguments) throws IOException {
    List<Block> blocks = new ArrayList<>();
    FloatBuffer all = initial(blocks);
    SafetensorsFile.write(
        Path.of(arguments[0]),
        Map.of(),
        new ParameterLayout(blocks),
        (first, destination) -> destination.put(all.slice(first, destination.remaining())),
        List.of());
  }

  /** Returns the initial parameters one after the other, and adds their names and shapes. */
  private static FloatBuffer initial(List<Block> blocks) {
    ExportedProgram program = Transformer.read(settings(OPTIONS)).program(config(true, OPTIONS));
    FloatBuffer all = FloatBuffer.allocate((int) count(OPTIONS));
    program
        .tensors()
        .forEach(
            (name, tensor) -> {
              if (!name.equals("head.weight")) {
                List<Integer> shape = tensor.shape().stream().map(Math::toIntExact).toList();
                blocks.add(new Block(name, shape, Block.Kind.TRAINABLE));
                all.put(tensor.values().duplicate().order(tensor.values().order()).asFloatBuffer());
              }
            });
    return all.flip();
  }

  @Test
  void shouldDrawTheSameParametersForTheSameSeed() throws Exception {
    List<Block> blocks = new ArrayList<>();
    FloatBuffer drawn = initial(blocks);
    FloatBuffer written = FloatBuffer.allocate(drawn.capacity());

    try (SafetensorsFile file =
        SafetensorsFile.open(resource("built-in-transformer.safetensors"))) {
      file.read(
          new ParameterLayout(blocks),
          (first, source) -> written.slice(first, source.remaining()).put(source));
    }

    assertEquals(drawn, written);
    assertEquals(count(OPTIONS), drawn.limit());
    assertEquals(0, drawn.get(blocks.get(0).length() + blocks.get(1).length() + 8), "a bias");
  }

  @ParameterizedTest
  @ValueSource(strings = {"next", "each"})
  void shouldTrainAsPyTorchDoes(String predict) throws Exception {
    JsonObject expected = new JsonObject(Files.readString(resource("built-in-transformer.json")));
    JsonArray losses = expected.getJsonArray(predict);
    boolean each = predict.equals("each");
    Batch batch = batch(expected.getJsonArray("windows"), each);

    try (Model model = Engine.named("pytorch").model(config(each, OPTIONS))) {
      float[] parameters = new float[model.layout().length()];
      float[] gradient = new float[parameters.length];
      model.readParameters(0, FloatBuffer.wrap(parameters));
      for (int step = 0; step < losses.size(); step++) {
        model.writeParameters(0, FloatBuffer.wrap(parameters));
        assertEquals(losses.getDouble(step), model.gradient(batch), 1e-5, "step " + step);
        model.readGradient(0, FloatBuffer.wrap(gradient));
        for (int i = 0; i < parameters.length; i++) {
          parameters[i] -= RATE * gradient[i];
        }
      }
    }
  }

  @Test
  void shouldCountItsParametersWithoutBuildingIt() {
    Map<String, Object> defaults = Map.of("layers", 1);

    OptionalLong known = Engine.named("pytorch").parameters(config(true, defaults));

    try (Model model = Engine.named("pytorch").model(config(true, defaults))) {
      assertEquals(known, OptionalLong.of(model.layout().length()));
    }
    assertEquals(known, OptionalLong.of(count(defaults)));
  }

  @Test
  void shouldLookLikeAnExportedProgram() {
    ExportedProgram program =
        Transformer.read(settings(Map.of("dropout", 0.1))).program(config(true, Map.of()));
    JsonObject graph = program.source().getJsonObject("graph_module").getJsonObject("graph");

    assertEquals(List.of((long) LENGTH), program.sample());
    assertEquals(OptionalLong.empty(), program.batch());
    assertSame(
        program.tensors().get("token_embedding.weight"), program.tensors().get("head.weight"));
    assertEquals(program.graph().nodes().size(), graph.getJsonArray("nodes").size());
    assertEquals(
        9, program.graph().nodes().stream().filter(n -> n.target().contains("dropout")).count());
    for (Graph.Node node : program.graph().nodes()) {
      for (Graph.Output output : node.outputs()) {
        output
            .names()
            .forEach(name -> assertTrue(graph.getJsonObject("tensor_values").containsKey(name)));
      }
    }
  }

  @Test
  void shouldReadItsArchiveAsTheSameNetwork(@TempDir Path folder) throws IOException {
    ExportedProgram program =
        Transformer.read(settings(Map.of("dropout", 0.1))).program(config(false, Map.of()));

    ExportArchive.write(program, Map.of(), folder.resolve("transformer.pt2"));
    ExportedProgram read = ExportArchive.read(folder.resolve("transformer.pt2"));

    assertEquals(program.graph(), read.graph());
    assertEquals(program.tensors().keySet(), read.tensors().keySet());
    assertSame(read.tensors().get("token_embedding.weight"), read.tensors().get("head.weight"));
    assertEquals(
        List.of(program.sample(), program.batch(), program.input()),
        List.of(read.sample(), read.batch(), read.input()));
  }

  @Test
  void shouldRefuseWhatIsWrong() {
    SettingsException heads =
        assertThrows(SettingsException.class, () -> Transformer.read(settings(Map.of("heads", 3))));
    ModelConfig pictures =
        new ModelConfig("transformer", Map.of(), List.of(1, 28, 28), 10, SEED, 1);
    IllegalArgumentException samples =
        assertThrows(
            IllegalArgumentException.class,
            () -> Transformer.read(settings(Map.of())).program(pictures));

    assertTrue(
        heads.getMessage().endsWith("width is 128, expected a multiple of the 3 heads"),
        heads::getMessage);
    assertEquals(
        "model transformer: samples of shape [1, 28, 28] are no ids of tokens, expected the data set text",
        samples.getMessage());
  }

  private static Batch batch(JsonArray windows, boolean each) {
    float[] features = new float[windows.size() * LENGTH];
    int[] labels = new int[windows.size() * (each ? LENGTH : 1)];
    for (int i = 0; i < windows.size(); i++) {
      JsonArray window = windows.getJsonArray(i);
      for (int t = 0; t < LENGTH; t++) {
        features[i * LENGTH + t] = window.getInteger(t);
        if (each) {
          labels[i * LENGTH + t] = window.getInteger(t + 1);
        }
      }
      if (!each) {
        labels[i] = window.getInteger(LENGTH);
      }
    }
    return new Batch(windows.size(), features, labels, new float[0], List.of(LENGTH), 0);
  }

  private static long count(Map<String, Object> options) {
    return Transformer.read(settings(options)).parameters(TOKENS, LENGTH);
  }

  private static Settings settings(Map<String, Object> options) {
    return Settings.of("model transformer", new JsonObject(options));
  }

  private static ModelConfig config(boolean each, Map<String, Object> options) {
    return new ModelConfig(
        "transformer",
        options,
        List.of(LENGTH),
        TOKENS,
        SEED,
        1,
        Loss.CROSS_ENTROPY,
        each ? LENGTH : 1,
        TOKENS);
  }

  private static Path resource(String name) throws URISyntaxException {
    return Path.of(TransformerTest.class.getResource(name).toURI());
  }
}
