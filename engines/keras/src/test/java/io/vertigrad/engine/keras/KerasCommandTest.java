package io.vertigrad.engine.keras;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.VertigradApplication;
import io.vertx.core.json.JsonObject;
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
