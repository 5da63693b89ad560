package io.vertigrad.engine.keras;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.VertigradApplication;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the commands with a Keras model, each in a separate process. */
@Tag("slow")
class KerasCommandTest {

  private static final long SECONDS = 120;

  @TempDir private Path folder;

  @Test
  void shouldContinueTrainingAModelFileThatSetNames() throws Exception {
    Path job = folder.resolve("job.json");
    Files.writeString(
        job,
        new JsonObject()
            .put("job", "keras")
            .put("steps", 60)
            .put("data", JsonObject.of("name", "digits", "train", 1280, "test", 200))
            .put("optimizer", JsonObject.of("learningRate", 0.2))
            .put("workers", JsonObject.of("count", 2, "batch", 32))
            .encode());
    Path model = KerasModelTest.file("digits");

    String said =
        run("train", "job.json", "--set", "model.name=" + model, "--run-dir", "run", "--quiet");

    JsonObject summary = new JsonObject(Files.readString(folder.resolve("run/summary.json")));
    assertTrue(summary.getDouble("accuracy") > 40, "random kernels have 10: " + said);
    JsonObject kept = new JsonObject(Files.readString(folder.resolve("run/job.json")));
    assertEquals(model.toString(), kept.getJsonObject("model").getString("name"));
    String tested = run("evaluate", "run");
    assertTrue(
        tested.contains(String.format(Locale.ROOT, "%.2f %%", summary.getDouble("accuracy"))),
        tested);
  }

  @Test
  void shouldAgreeWithTheFormulasWhenAModelFileIsChecked() throws Exception {
    KerasModelTest.Answers known = KerasModelTest.answers("row");
    ByteBuffer values =
        ByteBuffer.allocate(4 * (12 + 4) * Float.BYTES + 4 * Long.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN);
    // Labels of class 0 stay zeros.
    values.asFloatBuffer().put(known.inputs()).put(known.probabilities());
    byte[] header =
        new JsonObject()
            .put("x", tensor("F32", 0, 192, 4, 12))
            .put("output", tensor("F32", 192, 256, 4, 4))
            .put("y", tensor("I64", 256, 288, 4))
            .encode()
            .getBytes(StandardCharsets.UTF_8);
    Files.write(
        folder.resolve("reference.safetensors"),
        ByteBuffer.allocate(Long.BYTES + header.length + values.capacity())
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(header.length)
            .put(header)
            .put(values)
            .array());

    String said =
        run("check", KerasModelTest.file("row").toString(), "--with", "reference.safetensors");

    assertTrue(said.contains("4 samples of [12], 4 classes, crossEntropy; engine dl4j"), said);
    assertTrue(said.contains("it computes the same: largest difference "), said);
  }

  private static JsonObject tensor(String type, int begin, int end, Integer... shape) {
    return new JsonObject()
        .put("dtype", type)
        .put("shape", new JsonArray(List.of(shape)))
        .put("data_offsets", new JsonArray().add(begin).add(end));
  }

  private String run(String... arguments) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                VertigradApplication.class.getName()));
    command.addAll(List.of(arguments));
    Path said = folder.resolve("said.txt");
    Process process =
        new ProcessBuilder(command)
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile())
            .start();
    try {
      assertTrue(process.waitFor(SECONDS, TimeUnit.SECONDS), "still running");
    } finally {
      process.destroyForcibly();
    }
    assertEquals(0, process.exitValue(), Files.readString(said));
    return Files.readString(said);
  }
}
