package io.vertigrad.benchmarks.watching;

import com.sun.management.OperatingSystemMXBean;
import io.vertigrad.benchmarks.process.ChildLoop;
import io.vertigrad.benchmarks.process.HeapWatch;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.dashboard.DashboardVerticle;
import io.vertigrad.dashboard.MetricsVerticle;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;

/** Runs a job with its page in one process; the job does not end by itself. */
final class WatchedRun {

  static final String START = "start";
  static final String MEASURE = "measure";

  private static final String JOB = "watched";
  private static final long LIMIT_SECONDS = 120;
  private static final OperatingSystemMXBean SYSTEM =
      ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

  private final Vertx vertx = Vertx.vertx();
  private final HeapWatch heap = new HeapWatch();
  private volatile long samples;

  private WatchedRun() {}

  public static void main(String[] arguments) throws IOException {
    ChildLoop.run(new WatchedRun()::answer);
  }

  private JsonObject answer(JsonObject question) throws Exception {
    return switch (question.getString("task")) {
      case START -> start(question.getString("model"));
      case MEASURE -> measure(question.getInteger("seconds"));
      default -> throw new IllegalArgumentException("no task " + question.encode());
    };
  }

  /** Starts the job; returns its page's address once it trains. */
  private JsonObject start(String model) throws Exception {
    JobConfig job = job(model);
    DeploymentOptions options = new DeploymentOptions().setConfig(job.json());
    FrameCodecs.register(vertx.eventBus());
    vertx.eventBus().<JsonObject>consumer(job.addresses().events(), event -> count(event.body()));
    DashboardVerticle page = new DashboardVerticle();
    await(
        vertx
            .deployVerticle(new CoordinatorVerticle(), options)
            .compose(deployed -> vertx.deployVerticle(new MetricsVerticle(), options))
            .compose(deployed -> vertx.deployVerticle(page, options))
            .compose(deployed -> LocalMembers.of(job).deploy(vertx, job)));
    long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (samples == 0) {
      if (System.nanoTime() > limit) {
        throw new IllegalStateException("no sample was applied within " + LIMIT_SECONDS + " s");
      }
      Thread.sleep(50);
    }
    return new JsonObject().put("url", page.url()).put("job", JOB);
  }

  /**
   * Returns the job, without an evaluator: on two cores an evaluator would act as a third worker
   * from time to time.
   */
  private static JobConfig job(String model) {
    return JobConfig.read(
        "the watching benchmark",
        new JsonObject()
            .put("job", JOB)
            .put("steps", 100_000_000)
            .put("model", new JsonObject().put("name", model))
            .put("data", new JsonObject().put("name", "digits"))
            .put("evaluator", new JsonObject().put("count", 0).put("every", 1_000_000))
            .put("dashboard", new JsonObject().put("port", 0)));
  }

  /** Measures between two reports of the server, so that no part of a report is counted twice. */
  private JsonObject measure(int seconds) throws InterruptedException {
    heap.reset();
    long before = nextReport();
    long begun = System.nanoTime();
    long used = SYSTEM.getProcessCpuTime();
    Thread.sleep(TimeUnit.SECONDS.toMillis(seconds));
    long after = nextReport();
    double elapsed = (System.nanoTime() - begun) / 1e9;
    double busy = (SYSTEM.getProcessCpuTime() - used) / 1e9;
    return heap.report()
        .put("samplesPerSecond", (after - before) / elapsed)
        .put("cpuSecondsPerSample", busy / (after - before));
  }

  private long nextReport() throws InterruptedException {
    long last = samples;
    long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (samples == last && System.nanoTime() < limit) {
      Thread.sleep(1);
    }
    return samples;
  }

  private void count(JsonObject event) {
    if (event.getString("type").equals("serverProgress")) {
      samples = event.getLong("samples");
    }
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(LIMIT_SECONDS, TimeUnit.SECONDS);
  }
}
