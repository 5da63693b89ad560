package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests jobs in processes of which some are killed. */
@Tag("slow")
class KilledProcessTest {

  @TempDir private Path folder;
  private final int port = FreePort.forCluster();

  @AfterEach
  void nobodyIsLeftBehind() {
    ProcessHandle.current().children().forEach(ProcessHandle::destroyForcibly);
  }

  @Test
  void shouldContinueFromTheCheckpointWhenServerAndWorkerAreKilled() throws Exception {
    ProcessRun run = start("digits-async", "checkpoint.every=5", "steps=100", "evaluator.count=0");
    run.await(() -> run.count("checkpointWritten") > 1);

    run.process("server", 0).destroyForcibly();
    run.process("worker", 0).destroyForcibly();
    CommandRun ended = run.ended();

    assertEquals(0, ended.exit(), ended.err());
    assertTrue(run.happened("memberJoined", "server", 1), ended.out());
    assertEquals(2, run.count("processRestarted"), ended.out());
    assertTrue(
        ended.out().matches("(?s).*server-0 .process \\d+. ended with exit code 137.*"),
        ended.out());
    assertTrue(ended.out().contains("started again (restart 1 of at most 3"), ended.out());
    String log = Files.readString(folder.resolve("run/logs/server-0-restart-1.log"));
    assertTrue(log.matches("(?s).*server 0 .incarnation 1. goes on at version [1-9].*"), log);
    assertEquals(200, run.summary().getLong("version"));
    assertTrue(run.summary().getDouble("accuracy") > 60, run.summary().encode());
    assertBalanced(200, run.summary());
  }

  /**
   * Includes the remainders that compression keeps; KilledRunsTest tests the same without
   * compression.
   */
  @Test
  void shouldEndWithTheBitsOfAnUndisturbedRunWhenAnyMemberIsAskedToEndOrKilled() throws Exception {
    String[] settings = {
      "checkpoint.every=5",
      "steps=250",
      "evaluator.count=0",
      "exchange.compression=topk",
      "workers.batch=8",
      "data.millis=25"
    };
    JsonObject undisturbed = undisturbed("digits-sync", settings);
    ProcessRun run = start("digits-sync", settings);
    run.await(() -> run.count("checkpointWritten") > 1);

    askToEndAndAwaitNext(run, "worker", 0);
    askToEndAndAwaitNext(run, "server", 0);
    long saved = run.count("checkpointWritten");
    run.await(() -> run.count("checkpointWritten") > saved + 1);
    assertEquals(2, run.count("memberLeft"), "nobody joins again to repeat a step");
    assertEquals(0, run.count("processRestarted"));
    assertEquals(0, run.count("stallFound"));
    killAndAwaitNext(run, "worker", 1, 1);
    killAndAwaitNext(run, "server", 0, 2);
    CommandRun ended = run.ended();

    assertEquals(0, ended.exit(), ended.err());
    assertTrue(
        ended.out().matches("(?s).*worker 0 leaves .asked to end.: its place goes to .*"),
        ended.out());
    assertEquals(
        undisturbed.getString("parametersHash"), run.summary().getString("parametersHash"));
    assertBalanced(500, run.summary());
    assertBalanced(500, undisturbed);
    assertNoTracesOfHazelcast();
    JsonObject ordinary = undisturbed.getJsonObject("updates");
    assertEquals(0, ordinary.getLong("rolledBack"), ordinary.encode());
  }

  /** Includes the inner optimizer's state, which only a worker has, and what compression keeps. */
  @ParameterizedTest
  @CsvSource({"true, 50", "false, 500"})
  void shouldEndWithTheBitsOfAnUndisturbedRunWhenWorkersStepByThemselves(
      boolean servers, long applied) throws Exception {
    String[] settings = {
      "strategy.servers=" + servers,
      "strategy.syncEvery=10",
      "checkpoint.every=" + (servers ? 1 : 10),
      "steps=250",
      "evaluator.count=0",
      "optimizer.momentum=0.9",
      "optimizer.learningRate=0.02",
      "exchange.compression=int8",
      "workers.batch=8",
      "data.millis=5"
    };
    JsonObject undisturbed = undisturbed("digits-diloco", settings);
    ProcessRun run = start("digits-diloco", settings);
    run.await(() -> run.count("checkpointWritten") > 1);

    killAndAwaitNext(run, "worker", 1, 1);
    if (servers) {
      killAndAwaitNext(run, "server", 0, 1);
    }
    CommandRun ended = run.ended();

    assertEquals(0, ended.exit(), ended.err());
    assertEquals(
        undisturbed.getString("parametersHash"), run.summary().getString("parametersHash"));
    assertBalanced(applied, run.summary());
  }

  /** The test set is held until the kill, and the model is read after that. */
  @Test
  void shouldSaveTheModelOfAServerThatIsKilledAfterTheLastStep() throws Exception {
    Path held = folder.resolve("held");
    ProcessRun run =
        start(
            "digits-sync",
            "checkpoint.every=20",
            "steps=50",
            "evaluator.count=0",
            "data.testHeld=" + held);
    run.await(() -> run.count("jobStarted") > 0);
    Files.createFile(held);
    run.release();
    run.await(() -> run.count("jobFinished") > 0);

    run.process("server", 0).destroyForcibly();
    Files.delete(held);
    CommandRun ended = run.ended();

    assertEquals(0, ended.exit(), ended.err());
    assertEquals(1, run.count("processRestarted"), ended.out());
    assertEquals(50, run.summary().getLong("version"));
    assertTrue(run.summary().getDouble("accuracy") > 60, run.summary().encode());
    assertBalanced(100, run.summary());
  }

  @Test
  void shouldReportTheLossAndEndWhenAServerIsKilledWithoutCheckpoints() throws Exception {
    ProcessRun run =
        start("digits-sync", "evaluator.count=0", "workers.count=1", "checkpoint.seconds=0");
    run.await(() -> run.count("jobStarted") > 0);

    run.process("server", 0).destroyForcibly();
    CommandRun ended = run.ended();

    assertEquals(1, ended.exit(), ended.out());
    assertTrue(ended.err().contains("exit code 137 (signal 9)"), ended.err());
    assertTrue(ended.err().contains("because checkpoint.seconds is 0"), ended.err());
  }

  @Test
  void shouldFinishWithEqualReplicasWhenWorkerIsKilledAndReplacedByHandWithoutServers()
      throws Exception {
    ProcessRun run =
        start(
            "digits-ring", "strategy={\"name\":\"allreduce\"}", "cluster.restarts=0", "steps=300");
    run.await(() -> run.count("jobStarted") > 0);
    Process replacement = replacement();
    run.await(() -> replacementSaid().contains("it takes a place only when one is lost"));
    assertFalse(run.command().isDone(), replacementSaid());

    run.process("worker", 0).destroyForcibly();
    run.await(() -> run.happened("memberJoined", "worker", 1));
    long newcomer = run.process("worker", 0).pid();
    CommandRun ended = run.ended();

    assertEquals(0, ended.exit(), ended.err());
    assertEquals(replacement.pid(), newcomer, "somebody else took the place");
    assertTrue(ended.out().contains("ended with exit code 137"), ended.out());
    assertTrue(ended.out().contains("replace it with: ./vertigrad node"), ended.out());
    assertEquals(300, run.summary().getLong("version"));
    assertTrue(run.summary().getDouble("accuracy") > 60, run.summary().encode());
    JsonObject replicas = run.summary().getJsonObject("replicas");
    assertEquals(0, replicas.getDouble("consensusDistance"), replicas.encode());
    assertTrue(replacement.waitFor(20, TimeUnit.SECONDS), "the replacement did not end");
    assertEquals(0, replacement.exitValue(), replacementSaid());
  }

  /** A process that dies is expected: the logs have a line or two about it and no stack trace. */
  private void assertNoTracesOfHazelcast() throws IOException {
    try (Stream<Path> files = Files.walk(folder.resolve("run"))) {
      for (Path log : files.filter(file -> file.toString().endsWith(".log")).toList()) {
        String text = Files.readString(log);
        assertFalse(text.contains("\tat com.hazelcast."), () -> log + ": " + text);
      }
    }
  }

  /** Checks that every update is in the model exactly once. */
  private static void assertBalanced(long applied, JsonObject summary) {
    JsonObject updates = summary.getJsonObject("updates");
    assertEquals(applied, updates.getLong("applied"), updates.encode());
    assertEquals(0, updates.getLong("lost"), updates.encode());
    assertTrue(updates.getBoolean("balanced"), updates.encode());
  }

  /** Starts a job with long limits, so that no member is evicted because the machine is busy. */
  private ProcessRun start(String job, String... settings) {
    return start(job, Stream.of(settings));
  }

  private ProcessRun start(String job, Stream<String> settings) {
    Stream<String> patient =
        Stream.of(
            "exchange.evictMillis=60000",
            "exchange.drainSeconds=180",
            "workers.waitSeconds=180",
            "cluster.port=" + port);
    return ProcessRun.start(
        folder.resolve("run"), job, Stream.concat(settings, patient).toArray(String[]::new));
  }

  /** Returns the summary of the same job in this JVM, where it ends in the same bits. */
  private JsonObject undisturbed(String job, String... settings) throws IOException {
    Path run = folder.resolve("undisturbed");
    CommandRun ended = ProcessRun.inThisJvm(run, job, settings);
    assertEquals(0, ended.exit(), ended.err());
    return new JsonObject(Files.readString(run.resolve("summary.json")));
  }

  private String replacementSaid() throws IOException {
    return Files.readString(folder.resolve("replacement.log"));
  }

  private Process replacement() throws IOException {
    String job = folder.resolve("run/job.json").toString();
    return new ProcessBuilder(
            JavaCommand.of("2g", "node", "--role", "worker", "--join", "127.0.0.1:" + port, job))
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("replacement.log").toFile())
        .start();
  }

  /** Asks one member's process to end, and waits for the successor, the next incarnation. */
  private static void askToEndAndAwaitNext(ProcessRun run, String role, int rank) throws Exception {
    ProcessRun.signal("TERM", run.process(role, rank));
    run.await(() -> run.happened("memberJoined", role, rank, 1));
  }

  /** Kills a member's process, and waits for the next incarnation. */
  private static void killAndAwaitNext(ProcessRun run, String role, int rank, int next)
      throws Exception {
    run.process(role, rank).destroyForcibly();
    run.await(() -> run.happened("memberJoined", role, rank, next));
  }
}
