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
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs without servers from the command line: the ConvNet on generated digits. */
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

  @Test
  void shouldWriteThePublishedLogLineWhenTested() throws IOException {
    train("run", "dpsgd");

    List<String> lines = Files.readAllLines(folder.resolve("run/epochs.log"));
    String[] last = lines.get(lines.size() - 1).split(" ");
    assertEquals(4, last.length);
    // A worker's 1,000 samples are 16 batches, the last of 40: two epochs and 8 batches of 64.
    assertEquals(2 + 8 * 64 / 1000.0, Double.parseDouble(last[0]), 0.01);
    assertEquals(summary("run").getDouble("accuracy"), Double.parseDouble(last[3]), 0.01);
  }

  @ParameterizedTest
  @ValueSource(strings = {"dpsgd", "allreduce"})
  void shouldEndAtTheSameBitsInOneOrInThreeProcesses(String strategy) throws IOException {
    CommandRun embedded = train("embedded", strategy);
    CommandRun processes = train("processes", strategy, "--processes");

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
