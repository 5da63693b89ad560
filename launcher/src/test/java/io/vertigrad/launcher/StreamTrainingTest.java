package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests jobs that train on a stream, from the command line. */
@Tag("slow")
class StreamTrainingTest {

  private static final String JOB =
      """
      { "job": "prices", "steps": "unbounded",
        "data": { "name": "stream",
          "source": { "kind": "file", "path": "events.csv", "format": "csv" },
          "schema": { "features": [ { "field": "demand" }, { "field": "day", "type": "category", "values": ["1", "2"] } ],
                      "label": { "field": "class", "classes": ["0", "1"] }, "lags": 1 } },
        "model": { "name": "mlp", "hidden": 64 }, "strategy": { "name": "sync" }, "workers": { "count": 2, "batch": 8 } }
      """;

  @TempDir private Path folder;

  @AfterEach
  void nobodyIsLeftBehind() {
    ProcessHandle.current().children().forEach(ProcessHandle::destroyForcibly);
  }

  @Test
  void shouldTrainUntilTheFileEndsAndPredictAnEvent() throws IOException {
    write(3_001);

    CommandRun run = train("run", "checkpoint.every=94");

    assertEquals(0, run.exit(), run.err());
    assertTrue(
        run.out().contains("3,001 events, then the data end: 188 steps per worker"), run.out());
    JsonObject stream = summary("run").getJsonObject("stream");
    assertEquals(
        Set.of("events", "accuracy", "windowAccuracy", "kappa", "noChange", "majority"),
        stream.fieldNames());
    assertEquals(3_001, stream.getInteger("events"));
    assertTrue(stream.getDouble("windowAccuracy") > 0.85, stream::encode);
    assertTrue(stream.getDouble("accuracy") > stream.getDouble("noChange") + 0.2, stream::encode);

    CommandRun predicted =
        CommandRun.of(
            "predict",
            folder.resolve("run").toString(),
            "{\"demand\": 900, \"day\": \"1\", \"lag1\": \"0\"}",
            "--json");
    assertEquals(0, predicted.exit(), predicted.err());
    assertTrue(predicted.out().contains("\"class\":1"), predicted.out());

    // As if the process had been killed after its last checkpoint.
    Files.delete(folder.resolve("run/summary.json"));
    CommandRun resumed =
        CommandRun.of("resume", folder.resolve("run").toString(), "--no-dashboard");
    assertEquals(0, resumed.exit(), resumed.err());
    assertEquals(stream, summary("run").getJsonObject("stream"));
  }

  @Test
  void shouldContinueWithoutTheEventThatTheErrorNames() throws IOException {
    write(1_600);
    Path events = folder.resolve("events.csv");
    List<String> lines = new ArrayList<>(Files.readAllLines(events));
    lines.set(1_001, "x,1,1");
    lines.set(1_201, "");
    lines.set(1_301, "12");
    Files.write(events, lines);

    CommandRun stopped = train("run", "checkpoint.every=20");

    assertEquals(1, stopped.exit(), stopped.out());
    String bad = events + ": line 1002: field \"demand\" is \"x\"";
    requireOneFailure(bad, stopped, "run");
    CommandRun again = PastedCommand.after("to go on without it:", commandOf(stopped)).run();
    assertEquals(1, again.exit(), again.out());
    assertTrue(again.err().contains(events + ": line 1302: has 1 values"), again.err());
    CommandRun ended = PastedCommand.after("to go on without it:", commandOf(again)).run();
    assertEquals(0, ended.exit(), ended.err());
    assertTrue(ended.out().contains("; 2 events left out"), ended.out());

    CommandRun skipping = train("other", "data.onBadEvent=skip");
    assertEquals(0, skipping.exit(), skipping.err());
    assertEquals(
        summary("run").getString("parametersHash"), summary("other").getString("parametersHash"));
    assertEquals(2, summary("other").getJsonObject("stream").getInteger("bad"));
    assertEquals(1_597, summary("other").getJsonObject("stream").getInteger("events"));

    String[] apart =
        arguments("apart", "cluster.port=" + FreePort.forCluster()).toArray(String[]::new);
    CommandRun processes =
        CommandRun.of(
            Stream.concat(Stream.of(apart), Stream.of("--processes")).toArray(String[]::new));
    assertEquals(1, processes.exit(), processes.out());
    requireOneFailure(bad, processes, "apart");
  }

  /** Requires that the worker was not started again to read the same event. */
  private void requireOneFailure(String bad, CommandRun failed, String run) throws IOException {
    String printed = failed.out() + failed.err();
    assertEquals(2, printed.split(Pattern.quote(bad), -1).length, printed);
    assertEquals(1, failed.err().lines().count(), failed.err());
    List<String> members =
        Files.readString(folder.resolve(run).resolve("events.jsonl"))
            .lines()
            .filter(
                line -> line.contains("\"memberJoined\"") || line.contains("\"memberRestarted\""))
            .toList();
    assertEquals(3, members.size(), members::toString);
  }

  private static String commandOf(CommandRun failed) {
    return failed.err().split("; log: ")[0];
  }

  @Test
  void shouldEndWithTheBitsOfAnUndisturbedRunWhenAnyMemberIsKilled() throws Exception {
    write(48_000);
    String[] settings = {"checkpoint.every=100", "cluster.port=" + FreePort.forCluster()};
    CommandRun undisturbed = train("undisturbed", settings);
    assertEquals(0, undisturbed.exit(), undisturbed.err());
    String[] arguments =
        Stream.concat(arguments("run", settings).stream(), Stream.of("--processes"))
            .toArray(String[]::new);
    Set<Path> here = files(Path.of(""));
    ProcessRun run =
        new ProcessRun(
            folder.resolve("run"), CompletableFuture.supplyAsync(() -> CommandRun.of(arguments)));
    run.await(() -> run.count("checkpointWritten") > 1);

    run.process("worker", 1).destroyForcibly();
    run.await(() -> run.happened("memberJoined", "worker", 1));
    run.process("server", 0).destroyForcibly();
    run.await(() -> run.happened("memberJoined", "server", 1));
    CommandRun ended = run.ended();

    assertEquals(0, ended.exit(), ended.err());
    JsonObject expected = summary("undisturbed");
    assertTrue(run.happened("memberJoined", "worker", 1), ended.out());
    assertEquals(expected.getString("parametersHash"), summary("run").getString("parametersHash"));
    assertEquals(expected.getJsonObject("stream"), summary("run").getJsonObject("stream"));
    assertEquals(here, files(Path.of("")), "files outside of the run's folder");
    assertTrue(
        files(folder.resolve("run/checkpoints")).stream()
            .anyMatch(file -> file.toString().endsWith(".positions")),
        "workers keep their positions in the run's folder");
    assertFalse(
        Files.readString(folder.resolve("run/job.json")).contains("events.csv"),
        "the path of the events is not sent to other machines");
  }

  private static Set<Path> files(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.collect(Collectors.toSet());
    }
  }

  @Test
  void shouldReportAnInvalidJobBeforeTheStart() throws IOException {
    CommandRun missing = train("run");
    assertEquals(2, missing.exit());
    assertTrue(missing.err().contains("data.source.path is \""), missing.err());
    assertTrue(missing.err().contains("there is no such file"), missing.err());

    write(10);
    CommandRun unknown = train("run", "data.source.kind=pulsar");
    assertTrue(
        unknown.err().contains("data.source.kind is \"pulsar\", expected one of bus, file, kafka"),
        unknown.err());
    CommandRun steps = train("run", "steps=forever");
    assertTrue(
        steps.err().contains("steps is \"forever\", expected a number of steps, or \"unbounded\""),
        steps.err());
  }

  private CommandRun train(String name, String... settings) throws IOException {
    return CommandRun.of(arguments(name, settings).toArray(String[]::new));
  }

  private List<String> arguments(String name, String... settings) throws IOException {
    Path job = Files.writeString(folder.resolve("job.json"), JOB);
    List<String> arguments = new ArrayList<>(List.of("train", job.toString(), "--no-dashboard"));
    arguments.addAll(List.of("--run-dir", folder.resolve(name).toString()));
    arguments.addAll(List.of("--set", "data.source.path=" + folder.resolve("events.csv")));
    for (String setting : settings) {
      arguments.addAll(List.of("--set", setting));
    }
    return arguments;
  }

  private JsonObject summary(String run) throws IOException {
    return new JsonObject(Files.readString(folder.resolve(run).resolve("summary.json")));
  }

  private void write(int events) throws IOException {
    Random random = new Random(3);
    StringBuilder text = new StringBuilder("demand,day,class\n");
    for (int i = 0; i < events; i++) {
      int demand = random.nextInt(1_000);
      int day = 1 + random.nextInt(2);
      int label = (demand > 500) == (day == 1) ? 1 : 0;
      text.append("%d,%d,%d\n".formatted(demand, day, label));
    }
    Files.writeString(folder.resolve("events.csv"), text);
  }
}
