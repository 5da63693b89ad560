package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.RunningJob;
import io.vertigrad.training.TrainingJob;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests jobs whose roles run in one JVM each under the stock launcher, the strategy included. */
@Tag("slow")
class StrategyProcessTest {

  private static final Duration LIMIT = Duration.ofSeconds(240);
  private static final Pattern HASH =
      Pattern.compile("the job is over: .*\"state\":\"finished\".*\"parametersHash\":\"(\\w+)\"");
  private static final Pattern TESTED = Pattern.compile("version (\\d+): accuracy");

  @TempDir private Path folder;
  private final List<Role> started = new ArrayList<>();

  /** A verticle in its own JVM, and its output. */
  private record Role(String name, Process process, List<String> lines) {

    String output() {
      return String.join("\n", lines);
    }

    boolean said(String part) {
      return lines.stream().anyMatch(line -> line.contains(part));
    }

    private void read() {
      try (BufferedReader output = process.inputReader()) {
        output.lines().forEach(lines::add);
      } catch (IOException | UncheckedIOException ended) {
        lines.add("(ended)");
      }
    }
  }

  @AfterEach
  void endAll() {
    started.forEach(role -> role.process().destroyForcibly());
  }

  @Test
  void shouldEndWithTheSameHashWhenTheStrategyOfAServerIsKilled() throws Exception {
    JsonObject job = job("sync").put("servers", new JsonObject().put("count", 1));
    job.getJsonObject("optimizer").put("name", "adam").put("learningRate", 0.001);
    Role coordinator = start("Coordinator", job);
    Role strategy = startStrategy("server", job);
    Role server = start("ParameterServer", job);
    Role evaluator = start("Evaluator", job);
    start("Worker", job, "-instances", "2");
    await(() -> tested(evaluator) >= 5);

    strategy.process().destroyForcibly().waitFor();
    final Role another = startStrategy("server", job);
    release();

    assertEquals(hashInOneJvm(job), hashAfter(coordinator), this::outputs);
    assertTrue(strategy.said("runs the member of another JVM"), this::outputs);
    assertTrue(server.said("runs in another JVM, beside its strategy"), this::outputs);
    assertTrue(server.said("its strategy verticle at"), this::outputs);
    assertTrue(another.said("runs the member of another JVM"), this::outputs);
  }

  @Test
  void shouldEndWithTheSameHashWhenTheStrategyOfAWorkerIsKilled() throws Exception {
    JsonObject job = job("dpsgd");
    Role coordinator = start("Coordinator", job);
    Role strategy = startStrategy("worker", job);
    Role evaluator = start("Evaluator", job);
    Role worker = start("Worker", job, "-instances", "2");
    await(() -> tested(evaluator) >= 5);

    strategy.process().destroyForcibly().waitFor();
    final Role another = startStrategy("worker", job);
    release();

    assertEquals(hashInOneJvm(job), hashAfter(coordinator), this::outputs);
    assertTrue(strategy.said("runs the member of another JVM"), this::outputs);
    assertTrue(worker.said("its strategy verticle at"), this::outputs);
    assertTrue(another.said("runs the member of another JVM"), this::outputs);
  }

  @ParameterizedTest
  @CsvSource({"job,strategy", "ring,ring-strategy"})
  void shouldShowJobFilesThatDifferOnlyInTheStrategysPlace(String job, String strategy)
      throws IOException {
    JsonObject apart = example(strategy);

    assertNotNull(apart.remove("beside"));

    assertEquals(example(job), apart);
  }

  private static JsonObject example(String name) throws IOException {
    return new JsonObject(
        Files.readString(Path.of("../examples/stock-launcher/" + name + ".json")));
  }

  /** Lets the job continue at full speed; until then it takes some five steps a second. */
  private void release() throws IOException {
    Pace.of(folder.resolve("run")).release();
  }

  private JsonObject job(String strategy) throws IOException {
    int port = FreePort.find();
    JsonArray members = JsonArray.of("127.0.0.1:" + port);
    return new JsonObject()
        .put("job", "apart")
        .put("seed", 1)
        .put("steps", 300)
        .put(
            "data",
            new JsonObject()
                .put("name", "paced")
                .put("millis", 25)
                .put("until", Pace.of(folder.resolve("run")).end().toString())
                .put("train", 1_000)
                .put("test", 200))
        .put("model", new JsonObject().put("name", "convnet"))
        .put("optimizer", new JsonObject().put("name", "sgd").put("learningRate", 0.1))
        .put("strategy", new JsonObject().put("name", strategy))
        .put("workers", new JsonObject().put("count", 2).put("batch", 8).put("waitSeconds", 120))
        .put("evaluator", new JsonObject().put("every", 5).put("samples", 100))
        .put("checkpoint", new JsonObject().put("directory", folder.resolve("ck").toString()))
        .put("cluster", new JsonObject().put("port", port).put("members", members));
  }

  private Role startStrategy(String beside, JsonObject job) throws Exception {
    JsonObject place = new JsonObject().put("role", beside).put("rank", 0);
    Role strategy = start("Strategy", job.copy().put("beside", place));
    await(() -> strategy.said("takes part in job apart"));
    return strategy;
  }

  /** Starts a verticle; the first one starts the cluster that the others join. */
  private Role start(String name, JsonObject config, String... more) throws Exception {
    Path file = Files.createTempFile(folder, name, ".json");
    Files.writeString(file, config.encodePrettily());
    String verticle = "io.vertigrad.verticles." + name + "Verticle";
    List<String> command = JavaCommand.of("256m", verticle, "-cluster", "-conf", file.toString());
    command.addAll(List.of(more));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    Role role = new Role(name, process, new CopyOnWriteArrayList<>());
    started.add(role);
    Thread reader = new Thread(role::read, "output of " + name);
    reader.setDaemon(true);
    reader.start();
    if (started.size() == 1) {
      await(() -> role.said("takes part in job"));
    }
    return role;
  }

  private static long tested(Role evaluator) {
    return evaluator.lines().stream()
        .map(TESTED::matcher)
        .filter(Matcher::find)
        .mapToLong(found -> Long.parseLong(found.group(1)))
        .max()
        .orElse(-1);
  }

  private void await(Callable<Boolean> condition) {
    Awaitility.await()
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(50))
        .failFast(() -> started.stream().anyMatch(r -> r.said("Failed to deploy")))
        .until(condition);
  }

  private String outputs() {
    StringBuilder all = new StringBuilder();
    started.forEach(
        role -> all.append("\n== ").append(role.name()).append("\n").append(role.output()));
    return all.toString();
  }

  /** Returns the hash of the evaluator's last test, as the coordinator prints it at the end. */
  private String hashAfter(Role coordinator) {
    try {
      await(() -> coordinator.said("the job is over"));
    } catch (ConditionTimeoutException late) {
      throw new AssertionError(outputs(), late);
    }
    return coordinator.lines().stream()
        .map(HASH::matcher)
        .filter(Matcher::find)
        .map(found -> found.group(1))
        .findFirst()
        .orElse("none");
  }

  private static String hashInOneJvm(JsonObject job) throws Exception {
    Vertx vertx = Vertx.vertx();
    try {
      JsonObject alone = job.copy();
      alone.remove("cluster");
      alone.remove("checkpoint");
      RunningJob running = of(TrainingJob.of(JobConfig.read("test", alone)).deploy(vertx));
      return of(running.result()).parametersHash();
    } finally {
      of(vertx.close());
    }
  }

  private static <T> T of(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(240, TimeUnit.SECONDS);
  }
}
