package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests jobs without servers from the command line: the ConvNet on generated digits. */
@Tag("slow")
class DecentralTrainingTest {

  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource({"dpsgd, 2", "dpsgd, 4", "allreduce, 2", "allreduce, 4"})
  void shouldTrainTheConvNetWithoutAServer(String strategy, int workers) throws IOException {
    CommandRun result = train("run", strategy, "--set", "workers.count=" + workers);

    assertEquals(0, result.exit(), result.err());
    JsonObject summary = summary("run");
    assertEquals(0, summary.getInteger("servers"));
    assertEquals(40, summary.getLong("version"));
    assertTrue(summary.getLong("samples") > 40 * workers * 40, summary.encode());
    assertTrue(summary.getDouble("accuracy") > 30, "ten classes, 10 % is chance: " + summary);
    JsonObject replicas = summary.getJsonObject("replicas");
    boolean identical = strategy.equals("allreduce");
    assertEquals(identical, replicas.getDouble("consensusDistance") == 0, replicas.encode());
    assertEquals(identical ? 1 : 2 / 3.0, replicas.getDouble("spectralGap"), 1e-6);
    assertTrue(replicas.getDouble("localAccuracy") > 30, replicas.encode());
    assertTrue(result.out().contains("no servers"), result.out());
  }

  /**
   * A worker's 1,000 samples make 16 batches, the last one of 40 samples, so 40 steps are two and a
   * half epochs.
   */
  @Test
  void shouldWriteTheLineOfThePublishedProgramAtTheEndOfEachEpoch() throws IOException {
    String evaluator = "{\"everyEpochs\": 1, \"blocking\": true, \"samples\": 500, \"topK\": 3}";
    train("run", "dpsgd", "--set", "evaluator=" + evaluator);

    List<String> lines = Files.readAllLines(folder.resolve("run/epochs.log"));
    assertEquals(2, lines.size(), lines.toString());
    double before = 0;
    for (int epoch = 1; epoch <= 2; epoch++) {
      String[] line = lines.get(epoch - 1).split(" ");
      assertEquals(String.valueOf(epoch - 1), line[0], "counted from 0");
      assertEquals(lossOfEpoch(epoch), Double.parseDouble(line[2]), 1e-3);
      JsonObject test = testOf(16L * epoch);
      assertEquals(test.getDouble("accuracy"), Double.parseDouble(line[3]), 0.01);
      assertEquals(test.getDouble("topAccuracy"), Double.parseDouble(line[4]), 0.01);
      assertTrue(Double.parseDouble(line[1]) > before, "the clock of training runs on");
      before = Double.parseDouble(line[1]);
    }
    assertTrue(before < summary("run").getDouble("seconds"), "tests are not in it");
  }

  /** Returns the mean training loss of both workers over an epoch, from their reports. */
  private double lossOfEpoch(int epoch) throws IOException {
    List<JsonObject> reports =
        events("epochTrained").stream().filter(e -> e.getInteger("epoch") == epoch).toList();
    assertEquals(2, reports.size(), "one of each worker");
    reports.forEach(e -> assertEquals(1_000, e.getInteger("samples")));
    return reports.stream().mapToDouble(e -> e.getDouble("loss")).average().orElseThrow();
  }

  private JsonObject testOf(long version) throws IOException {
    List<JsonObject> tests =
        events("evaluated").stream().filter(e -> e.getLong("version") == version).toList();
    assertEquals(1, tests.size());
    return tests.get(0);
  }

  private List<JsonObject> events(String type) throws IOException {
    return Files.readAllLines(folder.resolve("run/events.jsonl")).stream()
        .map(JsonObject::new)
        .filter(event -> event.getString("type").equals(type))
        .toList();
  }

  @Test
  void shouldEndAtTheSameBitsInOneOrInThreeProcesses() throws IOException {
    CommandRun embedded = train("embedded", "allreduce");
    CommandRun processes = train("processes", "allreduce", "--processes");

    assertEquals(0, embedded.exit(), embedded.err());
    assertEquals(0, processes.exit(), processes.err());
    assertEquals(
        summary("embedded").getString("parametersHash"),
        summary("processes").getString("parametersHash"));
    assertTrue(Files.exists(folder.resolve("processes/logs/worker-1.log")));
    assertTrue(Files.notExists(folder.resolve("processes/logs/server-0.log")));
  }

  private CommandRun train(String run, String strategy, String... options) {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("train", "conf/digits-ring.json", "--steps", "40"));
    arguments.addAll(List.of("--run-dir", folder.resolve(run).toString()));
    arguments.addAll(List.of("--set", "data.train=2000", "--set", "data.test=500"));
    arguments.addAll(List.of("--set", "strategy={\"name\":\"" + strategy + "\"}"));
    arguments.addAll(List.of(options));
    return CommandRun.of(arguments.toArray(String[]::new));
  }

  private JsonObject summary(String run) throws IOException {
    return new JsonObject(Files.readString(folder.resolve(run).resolve("summary.json")));
  }
}
