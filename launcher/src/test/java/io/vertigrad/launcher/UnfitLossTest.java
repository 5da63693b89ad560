package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that a loss without matching targets in the data is refused before a folder is made. */
final class UnfitLossTest {

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"--quiet", "--processes", "--workers-here=0"})
  void shouldMakeNoRunFolderWhenTheLossOfTheFileDoesNotSuitTheClasses(String option)
      throws IOException {
    Path job = job(JsonObject.of("name", "mlp", "loss", "binaryCrossEntropy"), digits());

    assertRefused(
        job
            + ": model.loss is binaryCrossEntropy, which takes labels of 0 or 1 as targets, but the"
            + " data set 'digits' has classes; expected crossEntropy, or other data",
        train(job, option));
  }

  @Test
  void shouldMakeNoRunFolderWhenTheLossIsNotGivenAndTheDataHaveValues() throws IOException {
    Path job = job(JsonObject.of("name", "mlp"), values());

    assertRefused(
        job
            + ": model.loss is crossEntropy, which takes classes as targets, but the data set 'csv'"
            + " has real values; expected meanSquaredError, or other data",
        train(job, "--quiet"));
  }

  @Test
  void shouldMakeNoRunFolderWhenTheCommandLineNamesAnotherLoss() throws IOException {
    Path job = job(JsonObject.of("name", "mlp", "loss", "meanSquaredError"), values());

    assertRefused(
        job
            + " with --set model.loss=binaryCrossEntropy: model.loss is binaryCrossEntropy, which takes labels of 0 or 1 as targets,"
            + " but the data set 'csv' has real values; expected meanSquaredError, or other data",
        train(job, "--set", "model.loss=binaryCrossEntropy"));
  }

  @Test
  void shouldOpenADataSetWhoseProviderHasNoFingerprint() throws IOException {
    String provider = SilentProvider.class.getName();
    Path job =
        job(
            JsonObject.of("name", "mlp", "loss", "meanSquaredError"),
            JsonObject.of("name", provider));

    assertRefused(
        job
            + ": model.loss is meanSquaredError, which takes real values as targets, but the data"
            + " set '%s' has labels of 0 or 1; expected binaryCrossEntropy, or other data"
                .formatted(provider),
        train(job, "--quiet"));
  }

  @Test
  void shouldRefuseToJoinAsANode() throws IOException {
    Path job = job(JsonObject.of("name", "mlp", "loss", "meanSquaredError"), digits());

    assertRefused(
        job
            + ": model.loss is meanSquaredError, which takes real values as targets, but the data set"
            + " 'digits' has classes; expected crossEntropy, or other data",
        CommandRun.of(
            "node", "--role", "worker", "--join", "127.0.0.1:1", "--insecure", job.toString()));
  }

  private void assertRefused(String sentence, CommandRun run) {
    assertEquals("vertigrad: " + sentence, run.err().strip());
    assertEquals(2, run.exit());
    assertEquals("", run.out());
    assertFalse(Files.exists(folder.resolve("run")));
  }

  private static JsonObject digits() {
    return JsonObject.of("name", "digits", "train", 64, "test", 32);
  }

  private JsonObject values() throws IOException {
    for (String name : List.of("train", "test")) {
      Files.writeString(folder.resolve(name + ".csv"), "0.5,1,2\n0.25,3,4\n");
    }
    return JsonObject.of("name", "csv", "directory", folder.toString(), "targets", List.of(2, 3));
  }

  private Path job(JsonObject model, JsonObject data) throws IOException {
    Path file = folder.resolve("job.json");
    JsonObject job = JsonObject.of("job", "unfit", "model", model, "data", data, "steps", 2);
    return Files.writeString(file, job.encode());
  }

  private CommandRun train(Path job, String... more) {
    String[] arguments = new String[4 + more.length];
    arguments[0] = "train";
    arguments[1] = job.toString();
    arguments[2] = "--run-dir";
    arguments[3] = folder.resolve("run").toString();
    System.arraycopy(more, 0, arguments, 4, more.length);
    return CommandRun.of(arguments);
  }

  /** Provides a data set of one sample with two labels. */
  public static final class SilentProvider implements DatasetProvider {

    @Override
    public String name() {
      return "silent";
    }

    @Override
    public Dataset open(DataConfig config, Split split) {
      return new Dataset() {
        @Override
        public int size() {
          return 1;
        }

        @Override
        public List<Integer> shape() {
          return List.of(1);
        }

        @Override
        public int classes() {
          return 2;
        }

        @Override
        public Targets targets() {
          return Targets.labels(2);
        }

        @Override
        public void read(int index, float[] features, int offset) {}
      };
    }
  }
}
