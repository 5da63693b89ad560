package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.streams.internal.KafkaBroker.Record;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Kills trainings that read from a real broker, and resumes them. {@code -Dvertigrad.kills=20}
 * kills each of them more often, and trains longer for that.
 */
@Tag("slow")
class KafkaFaultTest {

  private static final int KILLS = Integer.getInteger("vertigrad.kills", 2);
  private static final int STEPS = 200 * KILLS;
  private static final int BATCH = 8;
  private static final int WORKERS = 2;
  private static final long LIMIT_SECONDS = 120;

  @TempDir static Path folder;
  private static KafkaBroker broker;
  private final List<Process> started = new ArrayList<>();

  @AfterEach
  void nobodyIsLeftBehind() {
    started.forEach(Process::destroyForcibly);
  }

  @BeforeAll
  static void start() throws Exception {
    broker = KafkaBroker.start(folder.resolve("broker"));
    Random random = new Random(2);
    List<Record> records = new ArrayList<>();
    for (int i = 0; i < 3 * STEPS * BATCH; i++) {
      int demand = random.nextInt(1_000);
      records.add(
          new Record(
              i % 3,
              null,
              "{\"demand\": %d, \"class\": \"%d\"}".formatted(demand, demand > 500 ? 1 : 0)));
    }
    broker.create("prices", 3);
    broker.send("prices", records);
    // The same with an event now and then that cannot be read, or is empty.
    for (int i = 100; i < records.size(); i += 331) {
      records.set(i, new Record(i % 3, null, i % 2 == 0 ? "" : "{\"demand\": "));
    }
    broker.create("dirty", 3);
    broker.send("dirty", records);
  }

  @AfterAll
  static void stop() {
    broker.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldEndWithTheBitsOfAnUndisturbedRunWhenEverythingIsKilled(String strategy)
      throws Exception {
    JsonObject undisturbed = inThisJvm(job(strategy, strategy + "-whole", 0));

    JsonObject disturbed = disturbed(strategy);

    assertEquals(undisturbed.getString("hash"), disturbed.getString("hash"));
    assertEquals(undisturbed.getJsonObject("tests"), disturbed.getJsonObject("tests"));
    JsonObject tests = disturbed.getJsonObject("tests");
    assertTrue(tests.getInteger("bad") > 10, tests::encode);
    assertEquals(2 * STEPS * BATCH, tests.getInteger("events") + tests.getInteger("bad"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"async"})
  void shouldTrainOnEveryEventOnceWhenEverythingIsKilled(String strategy) throws Exception {
    JsonObject disturbed = disturbed(strategy);

    assertEquals(2 * STEPS, disturbed.getInteger("version"));
    assertEquals(2 * STEPS * BATCH, disturbed.getInteger("samples"));
    // The statistics of the events are a partition of their own. If the last two updates come to
    // one
    // partition in this order and to the other in that one, each worker is told the version before
    // the last by one of them, and tests another batch, which is not trained on.
    int tested = disturbed.getJsonObject("tests").getInteger("events");
    assertTrue(
        tested >= 2 * STEPS * BATCH && tested <= (2 * STEPS + WORKERS) * BATCH, disturbed::encode);
  }

  /** Trains undisturbed; nobody kills this JVM. */
  private static JsonObject inThisJvm(JsonObject job) throws Exception {
    Path result = resultOf(job);
    KilledTraining.main(new String[] {written(job).toString(), result.toString()});
    return new JsonObject(Files.readString(result));
  }

  private JsonObject disturbed(String strategy) throws Exception {
    String name = strategy + "-killed";
    for (int kill = 0; kill < KILLS; kill++) {
      Process training = run(job(strategy, name, kill));
      long before = checkpoints(name);
      await(() -> checkpoints(name) > before || !training.isAlive());
      assertTrue(training.isAlive(), "it ended before it was killed");
      training.destroyForcibly().waitFor();
    }
    JsonObject last = job(strategy, name, KILLS);
    Process training = run(last);
    assertTrue(training.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS));
    assertEquals(0, training.exitValue(), () -> log(name));
    return new JsonObject(Files.readString(resultOf(last)));
  }

  private static Path written(JsonObject job) throws IOException {
    return Files.writeString(folder.resolve(job.getString("job") + ".json"), job.encode());
  }

  private static Path resultOf(JsonObject job) {
    return folder.resolve(job.getString("job") + ".result");
  }

  private static String log(String name) {
    try {
      return Files.readString(folder.resolve(name + ".log"));
    } catch (IOException e) {
      return e.toString();
    }
  }

  private static JsonObject job(String strategy, String name, int resumes) {
    return new JsonObject()
        .put("job", name)
        .put("steps", STEPS)
        .put("run", new JsonObject().put("id", name).put("resumes", resumes))
        .put(
            "checkpoint",
            new JsonObject()
                .put("every", 50)
                .put("directory", folder.resolve(name + "-checkpoints").toString()))
        .put(
            "data",
            new JsonObject(
                    """
                    {"name": "stream", "onBadEvent": "skip",
                     "schema": {"features": [{"field": "demand"}],
                                "label": {"field": "class", "classes": 2}, "lags": 1}}
                    """)
                .put(
                    "source",
                    new JsonObject()
                        .put("kind", "kafka")
                        .put("servers", broker.servers())
                        .put("topic", strategy.equals("async") ? "prices" : "dirty")
                        .put("group", "training")))
        .put("model", new JsonObject().put("name", "mlp").put("hidden", 16))
        .put("strategy", new JsonObject().put("name", strategy))
        .put("workers", new JsonObject().put("count", WORKERS).put("batch", BATCH));
  }

  private Process run(JsonObject job) throws IOException {
    String name = job.getString("job");
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                "-XX:TieredStopAtLevel=1",
                "-Dorg.bytedeco.javacpp.maxphysicalbytes=0",
                "-cp",
                System.getProperty(
                    "surefire.test.class.path", System.getProperty("java.class.path")),
                KilledTraining.class.getName(),
                written(job).toString(),
                resultOf(job).toString())
            .redirectErrorStream(true)
            .redirectOutput(
                ProcessBuilder.Redirect.appendTo(folder.resolve(name + ".log").toFile()))
            .start();
    started.add(process);
    return process;
  }

  /**
   * Returns how many checkpoint files of a job were written so far; files of both members count.
   */
  private static long checkpoints(String name) {
    Path checkpoints = folder.resolve(name + "-checkpoints");
    if (!Files.isDirectory(checkpoints)) {
      return 0;
    }
    try (Stream<Path> files = Files.list(checkpoints)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(file -> file.endsWith(".checkpoint"))
          .mapToLong(file -> Long.parseLong(file.replaceAll(".*version-(\\d+).*", "$1")))
          .max()
          .orElse(0);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void await(Condition condition) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (!condition.holds()) {
      assertTrue(System.nanoTime() < end, "waited too long");
      Thread.sleep(20);
    }
  }
}
