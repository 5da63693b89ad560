package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests pipelines from the command line. */
@Tag("slow")
class PipelineTrainingTest {

  @TempDir private Path folder;

  @Test
  void shouldEndAtTheSameBitsWhenStagesRunInOneJvmOrEachInItsOwn() throws IOException {
    CommandRun embedded = CommandRun.of(arguments("embedded"));
    CommandRun processes =
        CommandRun.of(arguments("processes", "--processes", "--set", "cluster.port=17901"));

    assertEquals(0, embedded.exit(), embedded.err());
    assertEquals(0, processes.exit(), processes.err());
    assertEquals(
        summary("embedded").getString("parametersHash"),
        summary("processes").getString("parametersHash"));
    assertTrue(
        embedded.out().contains("stage 1: fc to fc, 1,930 parameters, [10] out"), embedded.out());
    assertTrue(embedded.out().contains("bubble 20.0 %"), embedded.out());
    assertTrue(Files.exists(folder.resolve("processes/logs/stage-1.log")));
    assertFalse(Files.exists(folder.resolve("processes/logs/evaluator-0.log")), "stages test");
    assertEquals(List.of("500 of 0", "500 of 30", "2000 of 30"), tests("embedded"));
    assertEquals(List.of("500 of 0", "500 of 30", "2000 of 30"), tests("processes"));
    String job = Files.readString(folder.resolve("embedded/job.json"));
    assertEquals(
        List.of("relu1"),
        new JsonObject(job).getJsonObject("pipeline").getJsonArray("cuts").getList());
    assertScores(folder.resolve("embedded/model.zip"));
  }

  @Test
  void shouldSayWhyAndStopWhenACutIsImpossible() {
    CommandRun run = CommandRun.of(arguments("wrong", "--set", "pipeline.cuts=[\"fc\"]"));

    assertEquals(2, run.exit());
    assertTrue(run.err().contains("no stage can end with fc: it is the last layer"), run.err());
  }

  @Test
  void shouldRefuseToPlayAStageWhenTheJobHasNone() {
    CommandRun run =
        CommandRun.of("node", "--role", "stage", "--join", "127.0.0.1", "../conf/digits-sync.json");

    assertEquals(2, run.exit());
    assertTrue(run.err().contains("has no pipeline; use --role worker"), run.err());
  }

  /** Checks that the saved file is a normal network. */
  private static void assertScores(Path file) {
    ModelConfig config = new ModelConfig(file.toString(), Map.of(), List.of(1, 28, 28), 10, 0, 1);
    try (Model model = Engine.named("dl4j").model(config)) {
      Batch blank = new Batch(new float[784], new int[1], List.of(1, 28, 28), 0);
      assertEquals(1, model.score(blank).samples());
      assertEquals(1_960, model.layout().length());
    }
  }

  private List<String> tests(String run) throws IOException {
    return Files.readAllLines(folder.resolve(run).resolve("events.jsonl")).stream()
        .map(JsonObject::new)
        .filter(event -> event.getString("type").equals("evaluated"))
        .map(tested -> tested.getInteger("samples") + " of " + tested.getLong("version"))
        .toList();
  }

  private JsonObject summary(String run) throws IOException {
    return new JsonObject(Files.readString(folder.resolve(run).resolve("summary.json")));
  }

  private String[] arguments(String run, String... more) {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "train",
                "../conf/digits-pipeline.json",
                "--run-dir",
                folder.resolve(run).toString(),
                "--steps",
                "30",
                "--set",
                "evaluator.every=30"));
    arguments.addAll(List.of(more));
    return arguments.toArray(String[]::new);
  }
}
