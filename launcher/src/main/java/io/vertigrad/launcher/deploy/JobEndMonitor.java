package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.training.JobFailedException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.json.JsonObject;

/**
 * Notifies a node when its job is over, when the coordinator is gone, or when the node is no longer
 * in the coordinator's cluster.
 */
public final class JobEndMonitor {

  private static final long ASK_MILLIS = 1_000;
  private static final String STATE = "state";

  /** A gap of this length between two questions means that this process did not run. */
  private static final long FREEZE_MILLIS = 3_000;

  private static final long FREEZE_QUESTIONS = 3;

  private final Vertx vertx;
  private final JobConfig job;
  private final long askMillis;
  private final ClusterView cluster;
  private final Promise<Void> over = Promise.promise();
  private long lastAnswerNanos = System.nanoTime();
  private long askedNanos = lastAnswerNanos;
  private String state = "unknown";
  private volatile boolean jobOver;
  private long timer;

  /** Creates the monitor of a node that plays this role. */
  public JobEndMonitor(Vertx vertx, JobConfig job, Role role) {
    this(vertx, job, ASK_MILLIS, ClusterView.of(vertx, job, role));
  }

  /** Creates a monitor that asks the coordinator every {@code askMillis}. */
  JobEndMonitor(Vertx vertx, JobConfig job, long askMillis, ClusterView cluster) {
    this.vertx = vertx;
    this.job = job;
    this.askMillis = askMillis;
    this.cluster = cluster;
  }

  /** Starts watching; completes when the coordinator's messages can arrive. */
  public Future<Void> listen() {
    timer = vertx.setPeriodic(askMillis, id -> ask());
    return vertx
        .eventBus()
        .<JsonObject>consumer(job.addresses().control(), message -> onMessage(message.body()))
        .completion();
  }

  /**
   * Completes when the coordinator releases its members.
   *
   * @return fails with a {@link JobFailedException} when the job failed or the coordinator is gone
   */
  public Future<Void> over() {
    return over.future();
  }

  /** Returns true when the coordinator has released its members; from any thread. */
  public boolean jobOver() {
    return jobOver;
  }

  /** Stops asking. Call it before Vert.x closes, because its event bus throws afterwards. */
  public void close() {
    vertx.cancelTimer(timer);
  }

  private void onMessage(JsonObject message) {
    String stop = message.getString("stop");
    if (stop != null) {
      jobOver = true;
      end(state.equals("failed") ? new JobFailedException("the job failed: " + stop) : null);
    }
  }

  private void ask() {
    long now = System.nanoTime();
    long gapMillis = (now - askedNanos) / 1_000_000;
    if (gapMillis >= Math.max(FREEZE_MILLIS, FREEZE_QUESTIONS * askMillis)) {
      // This process did not run in between, so the coordinator was not silent.
      lastAnswerNanos += now - askedNanos;
      cluster.slept();
    }
    askedNanos = now;
    cluster.fault().ifPresent(this::end);
    if (over.future().isComplete()) {
      return;
    }
    DeliveryOptions limit = new DeliveryOptions().setSendTimeout(askMillis);
    vertx
        .eventBus()
        .<JsonObject>request(
            job.addresses().coordinator(), new JsonObject().put("request", STATE), limit)
        .onSuccess(answer -> answered(answer.body()))
        .onFailure(silence -> unanswered());
  }

  private void answered(JsonObject answer) {
    lastAnswerNanos = System.nanoTime();
    state = answer.getString(STATE, state);
    cluster.expect(answer.getString("node"));
    if (state.equals("stopped") || state.equals("failed")) {
      jobOver = true;
      end(
          state.equals("failed")
              ? new JobFailedException("the job failed; the coordinator says why")
              : null);
    }
  }

  private void unanswered() {
    long silentMillis = (System.nanoTime() - lastAnswerNanos) / 1_000_000;
    boolean known = !state.equals("unknown");
    long limit = 1_000L * (known ? job.exchange().orphanSeconds() : job.workers().waitSeconds());
    if (silentMillis > limit) {
      String silence =
          "no coordinator of job \"%s\" has answered for %.0f s; its last word was %s"
              .formatted(job.addresses().job(), silentMillis / 1e3, state);
      end(known ? new CoordinatorLostException(silence) : new JobFailedException(silence));
    }
  }

  private void end(JobFailedException failure) {
    close();
    if (failure == null) {
      over.tryComplete();
    } else {
      over.tryFail(failure);
    }
  }
}
