package io.vertigrad.benchmarks.owndata;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.run.UpdateLedger;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/**
 * A job that ran in this JVM to its end.
 *
 * @param accuracy accuracy of the final parameters on the whole test set, in percent
 * @param seconds from the job's start to its last test
 * @param tests the tests on the way, in order
 * @param ledgerProblems what does not balance in the account of updates; empty when all does
 */
record JobRun(
    double accuracy, double seconds, List<Evaluation> tests, List<String> ledgerProblems) {

  private static final long START_SECONDS = 120;
  private static final long LIMIT_HOURS = 6;
  private static final double MILLIS = 1e-3;

  /**
   * A test during the run.
   *
   * @param seconds since the job's start
   * @param version of the parameters
   * @param accuracy in percent
   */
  record Evaluation(double seconds, long version, double accuracy) {}

  JobRun {
    tests = List.copyOf(tests);
    ledgerProblems = List.copyOf(ledgerProblems);
  }

  /** Trains a job whose workers have the same job file, but do not test on their own samples. */
  static JobRun of(JsonObject job) throws Exception {
    return of(job, rank -> withoutTests(job));
  }

  /** Returns the job file of a member that tests nothing. */
  static JsonObject withoutTests(JsonObject job) {
    return job.copy().put("evaluator", new JsonObject().put("count", 0));
  }

  /**
   * Trains a job.
   *
   * @param job of the coordinator, the servers and the evaluator
   * @param workers returns the job file of a worker, by the order in which they are started
   */
  static JobRun of(JsonObject job, IntFunction<JsonObject> workers) throws Exception {
    Vertx vertx = Vertx.vertx();
    try {
      Recorder recorder = new Recorder();
      String events = "vertigrad." + job.getString("job") + ".events";
      vertx
          .eventBus()
          .<JsonObject>consumer(events, m -> recorder.add(TrainingEvent.fromJson(m.body())));
      CoordinatorVerticle coordinator = new CoordinatorVerticle();
      deploy(vertx, coordinator, job);
      int servers = job.getJsonObject("servers", new JsonObject()).getInteger("count", 1);
      for (int shard = 0; shard < servers; shard++) {
        deploy(vertx, new ParameterServerVerticle(), job);
      }
      deploy(vertx, new EvaluatorVerticle(), job);
      for (int i = 0; i < job.getJsonObject("workers").getInteger("count"); i++) {
        deploy(vertx, new WorkerVerticle(), workers.apply(i));
      }
      JsonObject result = await(coordinator.result(), TimeUnit.HOURS.toSeconds(LIMIT_HOURS));
      await(coordinator.stop("measured"), START_SECONDS);
      recorder.counted.completeOnTimeout(null, START_SECONDS, TimeUnit.SECONDS).get();
      return recorder.run(result.getJsonObject("evaluation").getDouble("accuracy"));
    } finally {
      await(vertx.close(), START_SECONDS);
    }
  }

  /** Returns the seconds until a test reached this accuracy in percent; empty if none has. */
  OptionalDouble secondsTo(double least) {
    return tests.stream()
        .filter(test -> test.version() > 0 && test.accuracy() >= least)
        .mapToDouble(Evaluation::seconds)
        .findFirst();
  }

  /** Returns the accuracies on the way as text. */
  String curve() {
    return tests.stream()
        .map(test -> String.format(Locale.ROOT, "%d: %.2f", test.version(), test.accuracy()))
        .collect(Collectors.joining(", "));
  }

  private static void deploy(Vertx vertx, Deployable verticle, JsonObject job) throws Exception {
    await(
        vertx.deployVerticle(verticle, new DeploymentOptions().setConfig(job.copy())),
        START_SECONDS);
  }

  private static <T> T await(Future<T> future, long seconds) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(seconds, TimeUnit.SECONDS);
  }

  /** Collects what the events of a run say. */
  private static final class Recorder {

    private final UpdateLedger ledger = new UpdateLedger();
    private final List<Evaluation> tests = new ArrayList<>();
    private final CompletableFuture<Void> counted = new CompletableFuture<>();
    private long begunMillis;
    private int accounts;

    private synchronized void add(TrainingEvent event) {
      ledger.apply(event);
      if (event instanceof JobStarted started) {
        begunMillis = started.timeMillis();
        accounts = started.workers() * started.servers();
      } else if (event instanceof Evaluated test) {
        double seconds = (test.timeMillis() - begunMillis) * MILLIS;
        tests.add(new Evaluation(seconds, test.version(), test.accuracy()));
      } else if (event instanceof UpdatesCounted) {
        accounts--;
        if (accounts == 0) {
          counted.complete(null);
        }
      }
    }

    private synchronized JobRun run(double accuracy) {
      List<String> problems = new ArrayList<>(ledger.problems());
      if (!ledger.isKnown()) {
        problems.add("no server has reported what became of updates");
      }
      double seconds = tests.isEmpty() ? 0 : tests.get(tests.size() - 1).seconds();
      return new JobRun(accuracy, seconds, tests, problems);
    }
  }
}
