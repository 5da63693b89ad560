package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.SavedModel;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests what {@code evaluate}, {@code predict} and {@code export} do with the model of a run; all
 * three use {@code SavedModel}.
 */
@Tag("slow")
class SavedRunTest {

  private static final long SECONDS = 60;
  private static final int CLASSES = 10;
  private static final int PIXELS = 28 * 28;

  @TempDir private static Path runs;
  @TempDir private Path folder;

  private static JobConfig job;
  private static Path file;
  private static TrainingResult result;

  @BeforeAll
  static void train() throws Exception {
    job =
        JobConfig.read(
            "saved",
            new JsonObject()
                .put("job", "saved")
                .put("engine", "pytorch")
                .put("steps", 80)
                .put(
                    "data",
                    new JsonObject().put("name", "digits").put("train", 1280).put("test", 200))
                .put("model", new JsonObject().put("name", "convnet"))
                .put("optimizer", new JsonObject().put("learningRate", 0.1))
                .put("workers", new JsonObject().put("count", 2).put("batch", 32)));
    file = runs.resolve("model.pt");
    Vertx vertx = Vertx.vertx();
    try {
      RunningJob running = get(TrainingJob.of(job).deploy(vertx));
      result = get(running.result());
      get(running.saveModel(file));
    } finally {
      get(vertx.close());
    }
  }

  @Test
  void shouldMatchTheLastTestOfTheRunWhenItIsEvaluated() {
    try (SavedModel saved = SavedModel.open(job, file)) {
      Score score = saved.evaluate(0);

      assertTrue(result.accuracy() > 20, "it has learned: " + result.accuracy());
      assertEquals(result.accuracy(), score.accuracy(), 1e-9);
      assertEquals(result.loss(), score.loss(), 1e-6);
    }
  }

  @Test
  void shouldOpenATorchScriptFileWithItsDescription() throws IOException {
    try (SavedModel saved = SavedModel.open(file);
        ZipFile zip = new ZipFile(file.toFile())) {
      assertEquals(result.parametersHash(), saved.parametersHash());
      assertEquals(PIXELS, saved.inputShape().stream().reduce(1, Math::multiplyExact));
      assertEquals(
          1, zip.stream().filter(one -> one.getName().endsWith("/extra/vertigrad.json")).count());
    }
  }

  @Test
  void shouldGiveProbabilitiesWhenItIsAsked() {
    float[] features = new float[2 * PIXELS];
    Arrays.fill(features, 0, PIXELS, -0.42f);
    try (SavedModel saved = SavedModel.open(job, file)) {
      float[] both = saved.probabilities(features, 2);

      assertEquals(2 * CLASSES, both.length);
      for (int i = 0; i < 2; i++) {
        double sum = 0;
        for (int k = 0; k < CLASSES; k++) {
          sum += both[i * CLASSES + k];
        }
        assertEquals(1, sum, 1e-5);
      }
      float[] first = saved.probabilities(Arrays.copyOf(features, PIXELS), 1);
      assertArrayEquals(Arrays.copyOf(both, CLASSES), first, 1e-6f);
    }
  }

  @Test
  void shouldBeTheSameModelWhenItWasExported() throws IOException {
    Path script = folder.resolve("copied.pt");
    Path tensors = folder.resolve("copied.safetensors");
    String hash;
    try (SavedModel saved = SavedModel.open(job, file)) {
      saved.export("pt", script);
      saved.export("safetensors", tensors);
      hash = saved.parametersHash();
    }

    for (Path copy : List.of(script, tensors)) {
      try (SavedModel again = SavedModel.open(job, copy)) {
        assertEquals(hash, again.parametersHash(), copy.toString());
        assertEquals(result.loss(), again.evaluate(0).loss(), 1e-6);
      }
    }
  }

  @Test
  void shouldReportItsFormatsWhenAnotherEngineHasTheFormat() throws IOException {
    try (SavedModel saved = SavedModel.open(job, file)) {
      IllegalArgumentException refused =
          assertThrows(
              IllegalArgumentException.class,
              () -> saved.export("onnx", folder.resolve("model.onnx")));

      assertEquals(
          "format onnx: the engine pytorch does not write it of this model, expected one of pt, safetensors",
          refused.getMessage());
    }
    try (Stream<Path> left = Files.list(folder)) {
      assertEquals(List.of(), left.toList(), "nothing is left behind");
    }
  }

  @Test
  void shouldReportADamagedFile() throws IOException {
    byte[] whole = Files.readAllBytes(file);
    Path half = Files.write(folder.resolve("half.pt"), Arrays.copyOf(whole, whole.length / 2));
    Path torn = Files.write(folder.resolve("torn.safetensors"), new byte[] {1, 2, 3});

    String script =
        assertThrows(IllegalArgumentException.class, () -> SavedModel.open(job, half)).getMessage();
    String tensors =
        assertThrows(DataException.class, () -> SavedModel.open(job, torn)).getMessage();

    assertTrue(script.startsWith("model " + half + ": is damaged or was cut short"), script);
    assertTrue(tensors.startsWith(torn + ": has 3 bytes, expected at least 10"), tensors);
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(SECONDS, TimeUnit.SECONDS);
  }
}
