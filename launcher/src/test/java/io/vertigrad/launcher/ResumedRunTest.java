package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.cluster.FreePort;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.launcher.tracking.EventFileParser;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests runs that were killed and are resumed from the command line, in their own processes. */
@Tag("slow")
final class ResumedRunTest {

  private static final Duration LIMIT = Duration.ofSeconds(240);
  private static final List<String> OPTIONS =
      List.of("--no-dashboard", "--set", "evaluator.count=0", "--set", "data.test=500");

  /** The log of the standby of the first resume. */
  private static final String STANDBY = "run/logs/standby-1.log";

  @TempDir Path folder;
  private final int port = FreePort.forCluster();
  private final List<Process> started = new ArrayList<>();
  private final Set<ProcessHandle> members = new HashSet<>();

  @AfterEach
  void nobodyIsLeftBehind() {
    started.forEach(Process::destroyForcibly);
    members.forEach(ProcessHandle::destroyForcibly);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"digits-sync servers.count=2 exchange.partitionElements=400", "digits-pipeline"})
  void shouldEndWithTheBitsOfAnUndisturbedRunWhenEverythingWasKilled(String job) throws Exception {
    String[] words = (job + " steps=200 checkpoint.every=5 tracking.tensorboard=true").split(" ");
    String undisturbed = undisturbed(words);
    Process killed = train("run", words);
    await(killed, () -> count("checkpointWritten") > 4);

    killed.destroyForcibly().waitFor();
    assertFalse(Files.exists(folder.resolve("run/summary.json")), "it had ended before");
    release();
    String resumed = hashOf(end(command("resume", folder.resolve("run").toString())), "run");

    assertEquals(undisturbed, resumed);
    assertTrue(summary("run").getLong("resumedAtVersion") >= 5, summary("run").encode());
    assertEquals(1, summary("run").getInteger("resumes"));
    Map<String, List<Long>> exported = exported();
    assertFalse(exported.isEmpty());
    exported.forEach(
        (curve, steps) -> assertEquals(steps.stream().sorted().distinct().toList(), steps, curve));
  }

  /** Returns the steps of each curve for TensorBoard, which reads files by name. */
  private Map<String, List<Long>> exported() throws IOException {
    Map<String, List<Long>> steps = new TreeMap<>();
    List<Path> files;
    try (Stream<Path> all = Files.list(folder.resolve("run"))) {
      files = all.filter(file -> file.toString().contains("tfevents")).sorted().toList();
    }
    assertEquals(2, files.size(), files.toString());
    for (Path file : files) {
      for (EventFileParser.Event event : EventFileParser.parse(file)) {
        event
            .values()
            .keySet()
            .forEach(
                curve -> steps.computeIfAbsent(curve, c -> new ArrayList<>()).add(event.step()));
      }
    }
    return steps;
  }

  @Test
  void shouldAdoptLivingMembersByTheNextCoordinator() throws Exception {
    String[] words = {"digits-sync", "steps=300", "cluster.port=" + port};
    String undisturbed = undisturbed(words);
    Process killed = train("run", words, "--processes");
    await(killed, () -> count("workerProgress") > 3);
    List<Long> pids = pids();

    killed.destroyForcibly().waitFor();
    Process resumed = command("resume", folder.resolve("run").toString());
    await(resumed, () -> count("jobStarted") == 2);
    assertEquals(pids, pids(), "members were started again");
    await(resumed, () -> said("resume").contains("members of the run live"));
    assertTrue(lowestAfterResuming() > 0, "the server has forgotten what it held");
    ProcessHandle.of(pids.get(1)).orElseThrow().destroyForcibly();
    await(resumed, () -> count("processRestarted") > 0);
    release();
    String hash = hashOf(end(resumed), "run");

    assertEquals(undisturbed, hash);
    assertTrue(said("resume").contains("3 members of the run live"), said("resume"));
    assertTrue(said("resume").contains("started again"), said("resume"));
    Awaitility.await().atMost(LIMIT).until(() -> members.stream().noneMatch(this::runs));
  }

  /** A node that is dying still accepts connections until its process has ended. */
  @Test
  void shouldStartAClusterWhenTheLivingNodesEnd() throws Exception {
    Process killed = train("run", new String[] {"digits-sync", "steps=200", "checkpoint.every=5"});
    await(killed, () -> count("checkpointWritten") > 1);
    killed.destroyForcibly().waitFor();
    release();

    Process resumed;
    try (ServerSocket dying = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      JsonArray nodes = JsonArray.of("127.0.0.1:" + dying.getLocalPort());
      Files.writeString(folder.resolve("run/nodes.json"), JsonObject.of("nodes", nodes).encode());
      resumed = command("resume", folder.resolve("run").toString());
      dying.setSoTimeout((int) LIMIT.toMillis());
      dying.accept().close();
    }

    assertEquals(0, end(resumed).exitValue(), said("resume"));
    assertEquals("finished", summary("run").getString("state"));
  }

  /** The port of a run that was killed may be another job's by the time it is resumed. */
  @Test
  void shouldUseTheNextPortWhenAnotherJobHasTheOldOne() throws Exception {
    String[] words = {"digits-sync", "steps=200", "checkpoint.every=5", "cluster.port=" + port};
    Process killed = train("run", words, "--listen");
    await(killed, () -> count("checkpointWritten") > 1);
    killed.destroyForcibly().waitFor();
    release();
    JsonObject cluster = new JsonObject().put("port", port);
    JobConfig job =
        JobConfig.read("other", new JsonObject().put("job", "other").put("cluster", cluster));
    Vertx other = started(ClusterStart.ofJob(job, JobSecret.random()));
    try {
      Process resumed = end(command("resume", folder.resolve("run").toString()));

      assertEquals(0, resumed.exitValue(), said("resume"));
      assertTrue(
          said("resume").contains("port " + port + " (cluster.port) is taken"), said("resume"));
    } finally {
      other.close().toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
    }
  }

  private static Vertx started(ClusterStart start) throws Exception {
    return start.start().toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  @Test
  void shouldReplaceTheCoordinatorByAStandby() throws Exception {
    String[] words = {
      "digits-sync", "steps=300", "cluster.port=" + port, "coordinator={\"standby\":true}"
    };
    Process killed = train("run", words, "--processes");
    await(killed, () -> count("workerProgress") > 3);
    pids();
    members.addAll(killed.descendants().toList());

    killed.destroyForcibly().waitFor();
    Awaitility.await().atMost(LIMIT).until(() -> count("jobStarted") == 2);
    release();
    Awaitility.await().atMost(LIMIT).until(() -> Files.exists(folder.resolve("run/summary.json")));

    assertEquals("finished", summary("run").getString("state"));
    assertEquals(1, summary("run").getInteger("resumes"));
    Awaitility.await().atMost(LIMIT).until(() -> members.stream().noneMatch(this::runs));
  }

  /** The interrupted attempt has left a summary, which the standby must not take for the end. */
  @Test
  void shouldReplaceTheCoordinatorOfAResumedRunByAStandby() throws Exception {
    String[] words = {
      "digits-sync", "steps=300", "cluster.port=" + port, "coordinator={\"standby\":true}"
    };
    String undisturbed = undisturbed(words);
    Process interrupted = train("run", words, "--processes");
    await(interrupted, () -> count("workerProgress") > 3);
    pids();
    interrupted.destroy();
    assertEquals(143, end(interrupted).exitValue(), said("run"));
    assertEquals("interrupted", summary("run").getString("state"));
    Process killed = command("resume", folder.resolve("run").toString());
    await(killed, () -> count("jobStarted") == 2 && Files.exists(folder.resolve(STANDBY)));
    long before = count("workerProgress");
    await(killed, () -> count("workerProgress") > before + 3);
    pids();
    members.addAll(killed.descendants().toList());

    killed.destroyForcibly().waitFor();
    Awaitility.await().atMost(LIMIT).until(() -> count("jobStarted") == 3);
    release();
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> "finished".equals(summary("run").getString("state")));

    assertEquals(undisturbed, summary("run").getString("parametersHash"));
    assertEquals(2, summary("run").getInteger("resumes"));
    Awaitility.await().atMost(LIMIT).until(() -> members.stream().noneMatch(this::runs));
  }

  @Test
  void shouldRollBackToTheCheckpointBeforeADamagedOne() throws Exception {
    String[] words = {"digits-sync", "steps=200", "checkpoint.every=5"};
    String undisturbed = undisturbed(words);
    Process killed = train("run", words);
    await(killed, () -> count("checkpointWritten") > 3);
    killed.destroyForcibly().waitFor();
    Path newest = checkpoints().get(checkpoints().size() - 1);
    try (FileChannel file = FileChannel.open(newest, StandardOpenOption.WRITE)) {
      file.truncate(file.size() / 2);
    }

    release();
    String resumed = hashOf(end(command("resume", folder.resolve("run").toString())), "run");

    assertEquals(undisturbed, resumed);
    String log = Files.readString(folder.resolve("run/run.log"));
    assertTrue(log.contains("checkpoint skipped: ") && log.contains(newest.toString()), log);
  }

  @Test
  void shouldRefuseToResumeAFinishedRunningOrChangedRun() throws Exception {
    Process killed = train("run", new String[] {"digits-sync", "steps=1000000"});
    await(killed, () -> count("serverProgress") > 0);
    String run = folder.resolve("run").toString();

    CommandRun running = CommandRun.of("resume", run);
    killed.destroyForcibly().waitFor();
    CommandRun other = CommandRun.of("resume", run, "--set", "seed=7");
    Pace.of(folder.resolve("short")).release();
    CommandRun.of(arguments("short", new String[] {"digits-sync", "steps=20"}));
    CommandRun finished = CommandRun.of("resume", folder.resolve("short").toString());
    CommandRun nothing = CommandRun.of("resume", folder.toString());

    assertEquals(2, running.exit());
    assertTrue(running.err().contains("process " + killed.pid() + " runs it"), running.err());
    assertEquals(2, other.exit());
    assertTrue(other.err().contains("--set seed: is a part of what is trained"), other.err());
    assertEquals(2, finished.exit());
    assertTrue(finished.err().contains("the run has finished"), finished.err());
    assertEquals(2, nothing.exit());
    assertTrue(nothing.err().contains("expected the folder of a run"), nothing.err());
  }

  @Test
  void shouldRefuseARunWhoseDataHaveChangedBeforeAnythingIsWritten() throws IOException {
    String points = "a,b,class\n" + "1,2,in\n4,5,out\n7,8,in\n3,2,out\n".repeat(10);
    Path data = Files.writeString(folder.resolve("points.csv"), points);
    Path copy = Files.writeString(folder.resolve("copy.csv"), points);
    Path fewer = Files.writeString(folder.resolve("fewer.csv"), points + "1,2,in\n");
    String run = folder.resolve("run").toString();
    CommandRun trained =
        CommandRun.of(
            ("train --data %s --set data.name=csv --set data.label=class --set model.name=mlp"
                    + " --steps 5 --no-dashboard --run-dir %s")
                .formatted(data, run)
                .split(" "));
    assertEquals(0, trained.exit(), trained.err());
    // As a kill leaves it.
    Files.delete(folder.resolve("run/summary.json"));
    String before = Files.readString(folder.resolve("run/launch.json"));
    String job = Files.readString(folder.resolve("run/job.json"));

    CommandRun refused = resumeWith(fewer);

    assertEquals(2, refused.exit(), refused.out());
    assertTrue(
        refused
            .err()
            .contains(
                "it was trained on other data, testData: found 4 samples of 2 classes, expected 4"
                    + " samples of 2 classes; the first file that differs: found fewer.csv with "),
        refused.err());
    assertTrue(refused.err().contains("--set model.name=" + run), refused.err());
    assertEquals(before, Files.readString(folder.resolve("run/launch.json")));
    assertEquals(job, Files.readString(folder.resolve("run/job.json")));
    assertEquals(0, resumeWith(copy).exit());
    Files.delete(folder.resolve("run/summary.json"));
    JsonObject old = new JsonObject(job);
    old.getJsonObject("resolved").remove("fingerprints");
    Files.writeString(folder.resolve("run/job.json"), old.encode());
    CommandRun without = resumeWith(fewer);
    assertEquals(0, without.exit(), without.err());
    assertTrue(without.out().contains("the run recorded no fingerprints"), without.out());
  }

  private CommandRun resumeWith(Path data) {
    return CommandRun.of(
        "resume",
        folder.resolve("run").toString(),
        "--no-dashboard",
        "--set",
        "data.directory=" + data);
  }

  /** Returns the hash of the same job in this JVM, at full speed. */
  private String undisturbed(String[] job) throws IOException {
    Pace.of(folder.resolve("undisturbed")).release();
    CommandRun ended = CommandRun.of(arguments("undisturbed", job));
    assertEquals(0, ended.exit(), ended.err());
    return summary("undisturbed").getString("parametersHash");
  }

  /** Starts a run that takes some five steps a second until it is released. */
  private Process train(String name, String[] job, String... options) throws IOException {
    List<String> words = new ArrayList<>(List.of(arguments(name, job)));
    words.addAll(List.of(options));
    return start(name, words);
  }

  private void release() throws IOException {
    Pace.of(folder.resolve("run")).release();
  }

  private String[] arguments(String name, String[] job) {
    List<String> words = new ArrayList<>(List.of("train", "conf/" + job[0] + ".json"));
    Stream.of(
            Pace.of(folder.resolve(name)).settings(25).stream(),
            Stream.of("workers.batch=8", "data.train=2000"),
            Stream.of(job).skip(1))
        .flatMap(settings -> settings)
        .forEach(setting -> words.addAll(List.of("--set", setting)));
    words.addAll(List.of("--run-dir", folder.resolve(name).toString()));
    words.addAll(OPTIONS);
    return words.toArray(String[]::new);
  }

  private Process command(String... words) throws IOException {
    List<String> all = new ArrayList<>(List.of(words));
    all.add("--no-dashboard");
    return start(words[0], all);
  }

  private Process start(String name, List<String> words) throws IOException {
    Process process =
        new ProcessBuilder(JavaCommand.of("2g", words.toArray(String[]::new)))
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve(name + ".said").toFile())
            .start();
    started.add(process);
    return process;
  }

  private Process end(Process process) throws Exception {
    assertTrue(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), "it does not end");
    return process;
  }

  private String hashOf(Process ended, String name) throws IOException {
    assertEquals(0, ended.exitValue(), said(name) + said("resume"));
    return summary(name).getString("parametersHash");
  }

  private void await(Process process, Callable<Boolean> condition) throws Exception {
    Awaitility.await()
        .dontCatchUncaughtExceptions()
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(20))
        .until(() -> !process.isAlive() || condition.call());
    assertTrue(process.isAlive(), said("run") + said("resume"));
  }

  private long count(String type) throws IOException {
    return events(type).count();
  }

  private Stream<JsonObject> events(String type) throws IOException {
    Path file = folder.resolve("run/events.jsonl");
    return (Files.exists(file) ? Files.readString(file) : "")
        .lines()
        .filter(line -> line.startsWith("{\"type\":\"" + type + "\"") && line.endsWith("}"))
        .map(JsonObject::new);
  }

  /** Returns the ids of all processes that a member joined from. */
  private List<Long> pids() throws IOException {
    List<Long> pids =
        events("memberJoined")
            .map(event -> Long.parseLong(event.getString("node").replaceAll(".* pid ", "")))
            .distinct()
            .sorted()
            .toList();
    pids.forEach(pid -> ProcessHandle.of(pid).ifPresent(members::add));
    return pids;
  }

  /**
   * Returns true for a running process. A process whose parent was killed may stay as a zombie when
   * nobody collects its exit code.
   */
  private boolean runs(ProcessHandle process) {
    try {
      String status = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
      return process.isAlive() && !status.substring(status.lastIndexOf(')')).startsWith(") Z");
    } catch (IOException gone) {
      return process.isAlive();
    }
  }

  /** Returns the lowest version that a server reported after the resume. */
  private long lowestAfterResuming() throws IOException {
    return events("serverProgress")
        .filter(event -> event.getInteger("incarnation") >= 10_000)
        .mapToLong(event -> event.getLong("version"))
        .min()
        .orElse(1);
  }

  private List<Path> checkpoints() throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve("run/checkpoints"))) {
      return files
          .filter(file -> file.toString().endsWith(".checkpoint"))
          .sorted(Comparator.comparing(Path::toString))
          .toList();
    }
  }

  private JsonObject summary(String name) throws IOException {
    return new JsonObject(Files.readString(folder.resolve(name).resolve("summary.json")));
  }

  private String said(String name) throws IOException {
    Path file = folder.resolve(name + ".said");
    return Files.exists(file) ? Files.readString(file) : "";
  }
}
