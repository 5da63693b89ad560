package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.job.JobConfig;
import io.vertigrad.training.TrainingJob;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Compares the files in docs/internals/architecture.md that a gradient of {@code sync} crosses with
 * those whose code a small job enters between a gradient and its answer.
 */
@Tag("slow")
class GradientPathTest {

  private static final Path PAGE = Path.of("../docs/internals/architecture.md");
  private static final Pattern NAME = Pattern.compile("`(?:\\w+/)?(\\w+)`");
  private static final long LIMIT_SECONDS = 60;
  private static final ClassLoader PROGRAM = new EnteredCode();

  /** Calls before and while entered code is recorded; a step of a worker makes about ten. */
  private static final long WARM_UP = 500;

  private static final long RECORDED = 2_000;

  /** The step of a worker, and what event loops do for a frame; not the timers of streams. */
  private static final Pattern STEP =
      Pattern.compile(".*\\.internal\\.worker\\.TrainingLoop\\.step");

  private static final Pattern FRAME =
      Pattern.compile(
          ".*\\.internal\\.(transport\\.(?!StreamServer\\.|Streams\\.|GradientPathTest)|exchange\\.PartitionClient\\b).*");

  /** Batches and networks work for a gradient; it does not pass through them. */
  private static final Pattern INSIDE =
      Pattern.compile("io\\.vertigrad\\.(compute\\.data|engine\\.dl4j\\.(?!Dl4jModel\\b)).*");

  @ParameterizedTest
  @CsvSource({"BUS, in one JVM", "STREAM, over TCP", "SHARED, over shared memory"})
  void shouldListTheFilesThatAGradientCrosses(String transport, String row) throws Exception {
    List<String> page = Files.readAllLines(PAGE);
    Set<String> listed = listed(page, transport);

    Set<String> entered = trace(transport);

    Set<String> crossed = files(entered, true);
    Set<String> missing = new TreeSet<>(crossed);
    missing.removeAll(listed);
    Set<String> extra = new TreeSet<>(listed);
    extra.removeAll(files(entered, false));
    String hint = "of a gradient %s, files that the page %s: ";
    assertEquals(
        hint.formatted(row, "does not list") + "[]; that it lists and that are not crossed: []",
        hint.formatted(row, "does not list")
            + missing
            + "; that it lists and that are not crossed: "
            + extra);
    assertEquals(
        List.of("| " + row + " | " + crossed.size() + " |"),
        page.stream().filter(line -> line.startsWith("| " + row + " |")).toList());
  }

  private static Set<String> listed(List<String> page, String transport) {
    Set<String> files = new TreeSet<>();
    String table = "";
    String where = "";
    for (String line : page) {
      table = line.startsWith("|") ? table : "";
      String[] cells = line.split("\\|");
      if (!line.startsWith("| ") || cells.length != 4) {
        continue;
      }
      if (cells[2].strip().equals("file")) {
        table = cells[1].strip();
        continue;
      }
      where = cells[1].isBlank() ? where : cells[1].strip();
      boolean taken =
          table.equals("where")
              || table.equals("between")
                  && !transport.equals("BUS")
                  && (where.equals("TCP")
                      || transport.equals(where.equals("TCP alone") ? "STREAM" : "SHARED"));
      Matcher name = NAME.matcher(cells[2].replaceAll("\\(.*?\\)", ""));
      while (taken && name.find()) {
        files.add(name.group(1));
      }
    }
    return files;
  }

  /**
   * Returns the names of top-level classes.
   *
   * @param counted true for those only that the page counts
   */
  private static Set<String> files(Set<String> entered, boolean counted)
      throws ClassNotFoundException {
    Set<String> files = new TreeSet<>();
    for (String name : entered) {
      Class<?> file = Class.forName(name.replaceAll("\\$.*", ""));
      if (!counted || !file.isInterface() && !file.isRecord() && !file.isEnum()) {
        files.add(file.getSimpleName());
      }
    }
    files.removeAll(Set.of("TensorLeaks", GradientPathTest.class.getSimpleName()));
    return files;
  }

  private static boolean isOfGradient(List<String> stack) {
    boolean inside = stack.stream().anyMatch(call -> INSIDE.matcher(call).matches());
    String outermost = stack.get(stack.size() - 1);
    return !inside
        && (FRAME.matcher(outermost).matches()
            || stack.stream().anyMatch(call -> STEP.matcher(call).matches()));
  }

  private static Set<String> trace(String transport) throws Exception {
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    // Engines, data sets and strategies are found by the context's class loader.
    Thread.currentThread().setContextClassLoader(PROGRAM);
    try {
      var begin =
          PROGRAM.loadClass(TracedJob.class.getName()).getDeclaredMethod("begin", String.class);
      begin.setAccessible(true);
      long begun = EnteredCode.calls();
      AutoCloseable job = (AutoCloseable) begin.invoke(null, transport);
      try {
        awaitCalls(begun + WARM_UP);
        EnteredCode.record(GradientPathTest::isOfGradient);
        awaitCalls(EnteredCode.calls() + RECORDED);
        return EnteredCode.stop();
      } finally {
        job.close();
      }
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
  }

  private static void awaitCalls(long calls) {
    Awaitility.await()
        .atMost(LIMIT_SECONDS, TimeUnit.SECONDS)
        .until(() -> EnteredCode.calls() >= calls);
  }

  /** A job of two workers and a server; loaded by {@link EnteredCode}. */
  static final class TracedJob implements AutoCloseable {

    private final Vertx vertx;

    private TracedJob(Vertx vertx) {
      this.vertx = vertx;
    }

    static AutoCloseable begin(String transport) throws Exception {
      JobConfig job =
          JobConfig.read(
              "traced.json",
              new JsonObject(
                      """
                      {"job": "traced", "steps": 1000000, "data": {"name": "digits"},
                       "model": {"name": "mlp"}, "strategy": {"name": "sync"},
                       "optimizer": {"name": "nesterov", "learningRate": 0.01},
                       "workers": {"count": 2, "batch": 8}, "evaluator": {"count": 0}}
                      """)
                  .put("exchange", JsonObject.of("transport", transport.toLowerCase())));
      Vertx vertx = Vertx.vertx();
      if (!transport.equals("BUS")) {
        Streams.open(vertx, new EventBusOptions().setHost("127.0.0.1"), job.exchange());
        // As if the server were in another process: the worker has to open a stream.
        String server = job.addresses().shard(0, 0);
        vertx.setPeriodic(1, tick -> Streams.of(vertx).orElseThrow().setListening(server, false));
      }
      await(TrainingJob.of(job).deploy(vertx));
      return new TracedJob(vertx);
    }

    @Override
    public void close() {
      await(vertx.close());
    }

    private static <T> T await(Future<T> future) {
      CompletableFuture<T> result = future.toCompletionStage().toCompletableFuture();
      return result.orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS).join();
    }
  }
}
