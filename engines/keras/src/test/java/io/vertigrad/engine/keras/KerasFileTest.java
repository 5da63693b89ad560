package io.vertigrad.engine.keras;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.engine.testing.FileMutants;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests files that are no Keras models, or models that cannot be used. */
class KerasFileTest {

  @TempDir private Path folder;

  @Test
  void shouldReportTheKindOfAFileThatIsNoKerasModel() throws Exception {
    assertRefused("empty.h5", new byte[0], "is empty, expected a model of Keras; save it with");
    assertRefused("text.h5", "no model".getBytes(StandardCharsets.UTF_8), "is no HDF5 file");
    assertRefused("new.keras", new byte[] {'P', 'K', 3, 4, 0, 0}, "is a zip, as Keras 3 writes");
    byte[] whole = Files.readAllBytes(KerasModelTest.file("row"));
    assertRefused("half.h5", java.util.Arrays.copyOf(whole, whole.length / 2), "is damaged");
    Files.createDirectory(folder.resolve("folder.h5"));
    assertEquals(
        "model %s: no such file, expected a model of Keras".formatted(folder.resolve("folder.h5")),
        refusal(folder.resolve("folder.h5")));
    Path loop = folder.resolve("loop.h5");
    Files.createSymbolicLink(loop, loop);
    assertTrue(refusal(loop).contains("no such file"), refusal(loop));
  }

  /**
   * Replaces numbers and names in the description, which the file stores as text of the same
   * length.
   */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "row | \"units\": 7 | \"units\": 8 |"
            + " layer hidden (Dense): kernel is [12, 7], expected [12, 8]",
        "row | \"units\": 7 | \"units\": 0 |"
            + " layer hidden (Dense): units is 0, expected a whole number from 1 to 16777216",
        "row | \"relu\" | \"gelu\" | layer hidden (Dense): activation is \"gelu\", expected one of",
        "row | \"Dense\" | \"Sense\" | layer hidden (Sense): is not known here, expected Dense,",
        "row | softmax | sigmoid | layer classes (Dense): the model ends with activation sigmoid",
        "row | \"classes\" | \"klasses\" | layer klasses (Dense): the file holds no kernel of it",
        "row | Sequential | SequentiaX | is a SequentiaX, expected a Sequential or a Functional",
        "row | \"name\" | \"game\" | a layer has no name, expected layers as Keras 2",
        "row | {\"class | [\"class | model_config: line 1, column",
        "digits | \"filters\": 4 | \"filters\": 5 |"
            + " layer conv (Conv2D): kernel is [3, 3, 1, 4], expected [3, 3, 1, 5]",
        "digits | \"same\" | \"some\" | padding is \"some\", expected one of valid, same",
        "digits | [3] | [2] | layer norm (BatchNormalization): axis is [2], expected 3",
        "digits | Flatten | Mlatten | is not known here",
        "graph | \"axis\": -1 | \"axis\": +1 | model_config: line 1, column",
        "graph | [\"image\", 0, 0] | [\"Image\", 0, 0] | expected one layer: models have one",
        "graph | [\"sum\", 0, | [\"sum\", 1, | inbound_nodes holds",
        "first | channels_first | channels_third | data_format is \"channels_third\", expected",
        "row | 2.11.0 | 3.11.0 | was saved by Keras 3.11.0, expected Keras 2"
      })
  void shouldNameTheLayerWhenItDoesNotFit(String name, String old, String changed, String message)
      throws Exception {
    byte[] whole = Files.readAllBytes(KerasModelTest.file(name));
    String text = new String(whole, StandardCharsets.ISO_8859_1);
    assertTrue(text.contains(old), old);
    String other =
        text.replace(old, changed + " ".repeat(Math.max(0, old.length() - changed.length())));
    assertEquals(text.length(), other.length(), "a text of the same length");

    assertRefused("changed.h5", other.getBytes(StandardCharsets.ISO_8859_1), message);
  }

  @Test
  void shouldReportLayersThatDoNotFit() throws Exception {
    byte[] list =
        described(
            "row",
            model ->
                model
                    .put("class_name", "Functional")
                    .put("config", model.getJsonObject("config").getJsonArray("layers")));
    byte[] vast =
        described(
            "digits",
            model -> {
              JsonArray layers = model.getJsonObject("config").getJsonArray("layers");
              configOf(layers, 0)
                  .put("batch_input_shape", new JsonArray("[null, 65536, 65536, 1]"))
                  .put("strides", new JsonArray("[1, 1]"));
              configOf(layers, 2).put("strides", new JsonArray("[1, 1]"));
              return model;
            });

    assertRefused("list.h5", list, "describes layers that do not go together (");
    assertRefused("vast.h5", vast, "describes layers that do not go together (integer overflow)");
  }

  @Test
  void shouldRenameAnActivationThatWouldClashWithALayer() throws Exception {
    byte[] clash =
        described(
            "digits",
            model -> {
              JsonArray layers = model.getJsonObject("config").getJsonArray("layers");
              configOf(layers, 2).put("name", "conv_activation");
              return model;
            });
    Path file = written("clash.h5", clash);
    Batch batch = new Batch(new float[28 * 28], new int[1], List.of(1, 28, 28), 0);

    assertArrayEquals(answer(KerasModelTest.file("digits"), batch), answer(file, batch), 0);
  }

  private static float[] answer(Path file, Batch batch) {
    ModelConfig config = new ModelConfig(file.toString(), Map.of(), batch.shape(), 10, 1, 1);
    try (Model model = Engine.named("dl4j").model(config)) {
      return model.probabilities(batch, 10);
    }
  }

  private static JsonObject configOf(JsonArray layers, int index) {
    return layers.getJsonObject(index).getJsonObject("config");
  }

  /** Returns the file with another description of its layers in the same number of bytes. */
  private static byte[] described(String name, UnaryOperator<JsonObject> change) throws Exception {
    String text =
        new String(Files.readAllBytes(KerasModelTest.file(name)), StandardCharsets.ISO_8859_1);
    int start = text.indexOf("{\"class_name\"");
    int end = start;
    int depth = 0;
    do {
      depth += text.charAt(end) == '{' ? 1 : text.charAt(end) == '}' ? -1 : 0;
      end++;
    } while (depth > 0);
    String other = change.apply(new JsonObject(text.substring(start, end))).encode();
    String padded = other + " ".repeat(end - start - other.length());
    return (text.substring(0, start) + padded + text.substring(end))
        .getBytes(StandardCharsets.ISO_8859_1);
  }

  @Test
  void shouldReportAMismatchOfSamplesOrClasses() throws Exception {
    String row = refusal(KerasModelTest.file("row"), List.of(1, 28, 28), 4);
    String classes = refusal(KerasModelTest.file("digits"), List.of(1, 28, 28), 3);

    assertTrue(row.contains("row.h5: does not take samples of shape [1, 28, 28]"), row);
    assertTrue(classes.contains("is [1, 10] for one sample, expected [1, 3]"), classes);
  }

  @ParameterizedTest
  @CsvSource({"row, 1", "first, 2", "digits, 3"})
  @Timeout(value = 600, unit = TimeUnit.SECONDS)
  void shouldReadOrRefuseWhenFilesAreDamaged(String name, long seed) throws Exception {
    Path file = Files.copy(KerasModelTest.file(name), folder.resolve(name + ".h5"));
    Engine.named("dl4j").prepare(1);

    int refused =
        FileMutants.read(
            file,
            seed,
            "model " + file + ": ",
            damaged -> new KerasFormat().read(damaged, 1, Loss.CROSS_ENTROPY));

    assertTrue(refused > FileMutants.count() / 3, refused + " were refused");
  }

  private void assertRefused(String name, byte[] content, String message) throws IOException {
    String found = refusal(written(name, content));
    assertTrue(found.startsWith("model " + folder.resolve(name) + ": "), found);
    assertTrue(found.contains(message), found);
    assertEquals(1, found.lines().count(), found);
  }

  private Path written(String name, byte[] content) throws IOException {
    return Files.write(folder.resolve(name), content);
  }

  private static String refusal(Path file) {
    return refusal(file, List.of(12), 4);
  }

  private static String refusal(Path file, List<Integer> shape, int classes) {
    ModelConfig config = new ModelConfig(file.toString(), Map.of(), shape, classes, 1, 1);
    return assertThrows(IllegalArgumentException.class, () -> Engine.named("dl4j").model(config))
        .getMessage();
  }
}
