package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.cluster.FreePort;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.Role;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests which data nodes must have when the coordinator trains nothing itself. */
@Tag("slow")
final class NodeDataTest {

  private static final Duration LIMIT = Duration.ofSeconds(240);

  @TempDir private Path folder;
  private final List<Process> nodes = new ArrayList<>();
  private Path job;
  private final int port = FreePort.forCluster();
  private final String address = "127.0.0.1:" + (port + 100);

  @BeforeEach
  void writeJob() throws IOException {
    JsonObject json =
        new JsonObject()
            .put("job", "points")
            .put("engine", "dl4j")
            .put("steps", 30)
            .put("model", JsonObject.of("name", "mlp"))
            .put("data", JsonObject.of("name", "csv", "classes", 2))
            .put("optimizer", JsonObject.of("name", "sgd", "learningRate", 0.1))
            .put("workers", JsonObject.of("count", 2, "batch", 8, "waitSeconds", 300))
            .put("servers", JsonObject.of("count", 1))
            .put("dashboard", JsonObject.of("enabled", false));
    job = Files.writeString(folder.resolve("points.json"), json.encode());
  }

  @AfterEach
  void endNodes() {
    nodes.forEach(Process::destroyForcibly);
  }

  /** The layout of examples/deploy/compose.yaml: each member is a process, servers have no data. */
  @Test
  void shouldTrainOnTheCoordinatorsDataWhenAllMembersAreNodes() throws Exception {
    Path own = data("own", 0, 1, 64);
    Path copy = data("copy", 0, 1, 64);
    Path swapped = data("swapped", 1, 0, 64);
    CommandRun alone = train("alone", own, "--quiet");
    assertEquals(0, alone.exit(), alone.err());
    CompletableFuture<CommandRun> run =
        begin(own, "--servers-here", "0", "--set", "cluster.port=" + port);

    String why = refused(swapped);
    assertTrue(
        why.contains(
            "is refused: it has other data than the job, trainingData: found 64 samples of 2"
                + " classes, expected 64 samples of 2 classes; the first file that differs: found"
                + " train.csv with "),
        why);
    node("server", "server");
    node("worker-0", "worker", "--data", copy.toString());
    node("worker-1", "worker", "--data", copy.toString());
    CommandRun ended = run.get(LIMIT.toSeconds(), TimeUnit.SECONDS);

    assertEquals(0, ended.exit(), () -> ended + said("server") + said("worker-0"));
    assertTrue(ended.out().contains("refused a join from "), ended::toString);
    assertEquals(hash("alone"), hash("run"));
    for (Process node : nodes.subList(1, nodes.size())) {
      assertTrue(node.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS));
      assertEquals(0, node.exitValue(), () -> said("server") + said("worker-0"));
    }
  }

  @Test
  void shouldNameTheDataOfTheFirstNodeWhenTheCoordinatorHasNone() throws Exception {
    Path tests = data("tests", 0, 1, 64);
    Files.delete(tests.resolve("train.csv"));
    Path first = data("first", 0, 1, 64);
    Path shorter = data("shorter", 0, 1, 60);
    CompletableFuture<CommandRun> run =
        begin(tests, "--workers", "2", "--set", "cluster.port=" + port);

    Process one = node("first", "worker", "--data", first.toString());
    Awaitility.await().atMost(LIMIT).until(() -> !one.isAlive() || events().contains("64 samples"));
    assertTrue(one.isAlive(), () -> said("first"));
    String why = refused(shorter);
    assertTrue(why.contains("found 60 samples of 2 classes, expected 64"), why);
    node("second", "worker", "--data", first.toString());
    CommandRun ended = run.get(LIMIT.toSeconds(), TimeUnit.SECONDS);

    assertEquals(0, ended.exit(), ended::toString);
    assertTrue(
        ended
            .out()
            .contains(
                "no training data here: all members must have those of the first that joins ("
                    + tests
                    + ": has no train.csv"),
        ended::toString);
    assertTrue(
        ended
            .out()
            .matches(
                "(?s).*trains on the data of worker 0 at 127\\.0\\.0\\.1 pid \\d+: 64 samples of 2"
                    + " classes \\(hash \\p{XDigit}{16}\\); all members must have the same\n.*"),
        ended::toString);
    assertTrue(events().contains("\"data\":\"64 samples of 2 classes (hash "), events());
  }

  @Test
  void shouldWarnWhenWorkersWithOwnDataAreInOneProcess() throws Exception {
    CommandRun run =
        train("both", data("both", 0, 1, 64), "--steps", "1", "--set", "workers.data=own");

    assertEquals(0, run.exit(), run::toString);
    assertTrue(
        run.out()
            .contains(
                "WARNING: workers.data is \"own\", but 2 workers train on the same data, those of"
                    + " this machine; start each with data of its own: --listen --workers-here 0,"
                    + " and nodes\n"),
        run::toString);
  }

  @Test
  void shouldTrainOnTheDataOfEachNodeWhenEachHasItsOwn() throws Exception {
    Path tests = data("tests", 0, 1, 64);
    Files.delete(tests.resolve("train.csv"));
    Path first = data("first", 0, 1, 64);
    Path second = data("second", 0, 0, 40);
    Path wide = Files.createDirectory(folder.resolve("wide-data"));
    Files.writeString(wide.resolve("train.csv"), "0,1,2,3\n1,3,2,1\n");
    CompletableFuture<CommandRun> run =
        begin(tests, "--set", "workers.data=own", "--set", "cluster.port=" + port);

    Process one = node("first", "worker", "--data", first.toString());
    Awaitility.await().atMost(LIMIT).until(() -> !one.isAlive() || events().contains("worker"));
    assertTrue(one.isAlive(), () -> said("first"));
    String why = refused(wide);
    assertTrue(
        why.contains(
            "its samples have another form than the job's, trainingData: found samples of 3"
                + " with 2 classes, expected samples of 2 with 2 classes"),
        why);
    node("second", "worker", "--data", second.toString());
    CommandRun ended = run.get(LIMIT.toSeconds(), TimeUnit.SECONDS);

    assertEquals(0, ended.exit(), ended::toString);
    assertTrue(
        ended.out().contains("worker 1 has 40 samples of its own, 1 of 2 labels: 40 of 0\n"),
        ended::toString);
    assertTrue(ended.out().contains("each worker has its own samples, 40 to 64"), ended::toString);
    assertTrue(ended.out().contains("nodes may join, each with its own --data: "), ended::toString);
    assertFalse(ended.out().contains("WARNING: workers.data"), ended::toString);
    JsonObject own = summary("run").getJsonObject("own");
    assertEquals(64, own.getJsonArray("workers").getJsonObject(0).getInteger("samples"));
    assertEquals(40, own.getJsonArray("workers").getJsonObject(1).getInteger("samples"));
    assertTrue(own.getJsonObject("accuracy").getDouble("lowest") >= 0, own::encode);
    // Each step uses a batch of 8 samples of each worker; both have a multiple of 8.
    assertEquals(30 * 2 * 8, summary("run").getInteger("samples"));
  }

  @Test
  void shouldAdmitOnlyTheCoordinatorsDataWhenAnApplicationDeploysIt() throws Exception {
    JsonObject own = new JsonObject(Files.readString(job));
    own.getJsonObject("data").put("directory", data("own", 0, 1, 64).toString());
    JobSecret secret = JobSecret.createOrRead(folder.resolve("secret"));
    own.put(
        "cluster", JsonObject.of("secretFile", folder.resolve("secret").toString(), "port", port));
    JsonObject other = own.copy();
    other.getJsonObject("data").put("directory", data("swapped", 1, 0, 64).toString());
    ClusterStart start = ClusterStart.ofMember(JobConfig.read("job", own), secret, true);
    Vertx vertx = get(start.start());
    try {
      get(vertx.deployVerticle(new CoordinatorVerticle(), new DeploymentOptions().setConfig(own)));

      ExecutionException refused =
          assertThrows(
              ExecutionException.class,
              () -> get(LocalMembers.one(Role.WORKER).deploy(vertx, JobConfig.read("job", other))));

      assertTrue(
          refused.getMessage().contains("it has other data than the job"), refused::toString);
    } finally {
      get(vertx.close());
    }
  }

  /** Begins the run "run" without workers here, and waits until nodes may join. */
  private CompletableFuture<CommandRun> begin(Path data, String... options) {
    List<String> all = new ArrayList<>(List.of("--workers-here", "0"));
    all.addAll(List.of(options));
    CompletableFuture<CommandRun> run =
        CompletableFuture.supplyAsync(() -> train("run", data, all.toArray(String[]::new)));
    Awaitility.await().atMost(LIMIT).until(() -> run.isDone() || isWritten("run/secret"));
    return run;
  }

  /** Starts a worker's node with these data, which is refused. Returns what it says. */
  private String refused(Path data) throws Exception {
    Process refused = node("refused", "worker", "--data", data.toString());
    assertTrue(refused.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), () -> said("refused"));
    assertEquals(2, refused.exitValue(), () -> said("refused"));
    return said("refused");
  }

  private CommandRun train(String name, Path data, String... options) {
    List<String> words = new ArrayList<>(List.of("train", job.toString(), "--data"));
    words.addAll(List.of(data.toString(), "--run-dir", folder.resolve(name).toString()));
    words.addAll(List.of(options));
    return CommandRun.of(words.toArray(String[]::new));
  }

  /** Starts a process in a folder of its own, which only knows the job's address and secret. */
  private Process node(String name, String role, String... options) throws IOException {
    List<String> words = new ArrayList<>(List.of("node", "--role", role, "--job", address));
    words.addAll(List.of("--wait", "200", "--secret", folder.resolve("run/secret").toString()));
    words.addAll(List.of("--set", "checkpoint.directory=" + folder.resolve(name + "-checkpoints")));
    words.addAll(List.of(options));
    Process node =
        new ProcessBuilder(JavaCommand.of("512m", words.toArray(String[]::new)))
            .directory(Files.createDirectory(folder.resolve("of-" + name)).toFile())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve(name + ".log").toFile())
            .start();
    nodes.add(node);
    return node;
  }

  private Path data(String name, int low, int high, int rows) throws IOException {
    Path data = Files.createDirectory(folder.resolve(name + "-data"));
    Random random = new Random(7);
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < rows; i++) {
      double x = random.nextDouble() - 0.5;
      lines.append("%s,%s,%s\n".formatted(x < 0 ? low : high, x, random.nextDouble()));
    }
    Files.writeString(data.resolve("train.csv"), lines);
    Files.writeString(data.resolve("test.csv"), lines);
    return data;
  }

  private String hash(String run) throws IOException {
    return summary(run).getString("parametersHash");
  }

  private JsonObject summary(String run) throws IOException {
    return new JsonObject(Files.readString(folder.resolve(run).resolve("summary.json")));
  }

  private boolean isWritten(String file) {
    return Files.exists(folder.resolve(file));
  }

  private String events() {
    return text(folder.resolve("run/events.jsonl"));
  }

  private String said(String node) {
    return text(folder.resolve(node + ".log"));
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future
        .toCompletionStage()
        .toCompletableFuture()
        .get(LIMIT.toSeconds(), TimeUnit.SECONDS);
  }
}
