package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.training.JobFailedException;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.json.JsonObject;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notifies a node when its job is over, when the coordinator is gone, or when the node is no longer
 * in the coordinator's cluster. Decides how long a node stays that was asked to end.
 */
public final class JobEndMonitor {

  private static final Logger LOG = LoggerFactory.getLogger(JobEndMonitor.class);
  private static final long ASK_MILLIS = 1_000;
  private static final String STATE = "state";
  private static final String UNKNOWN = "unknown";
  private static final String DRAIN = "drain";
  private static final String WAITING = "waiting";
  private static final long NANOS_PER_MILLI = 1_000_000;

  /** A gap of this length between two questions means that this process did not run. */
  private static final long FREEZE_MILLIS = 3_000;

  private static final long FREEZE_QUESTIONS = 3;

  /**
   * A signal to a whole process group reaches the coordinator's process too, but on a busy machine
   * that may handle it later than this one: within this many questions.
   */
  private static final long SAME_SIGNAL_QUESTIONS = 2;

  private final Vertx vertx;
  private final Context context;
  private final JobConfig job;
  private final long askMillis;
  private final long drainMillis;
  private final ClusterView cluster;
  private final Promise<Void> over = Promise.promise();
  private final Promise<Void> leaves = Promise.promise();
  private final String node;
  private long lastAnswerNanos = System.nanoTime();
  private long askedNanos = lastAnswerNanos;
  private String state = UNKNOWN;
  private volatile boolean jobOver;
  private volatile long timer;
  private boolean admitted;
  private boolean askedToEnd;
  private boolean memberSeen;
  private long askedToEndNanos;

  /** Creates the monitor of a node that plays this role. */
  public JobEndMonitor(Vertx vertx, JobConfig job, Role role) {
    this(
        vertx,
        job,
        ASK_MILLIS,
        1_000L * job.exchange().drainSeconds(),
        ClusterView.of(vertx, job, role));
  }

  /**
   * Creates a monitor.
   *
   * @param askMillis how often it asks the coordinator
   * @param drainMillis how long it waits until its member has handed its place over
   */
  JobEndMonitor(Vertx vertx, JobConfig job, long askMillis, long drainMillis, ClusterView cluster) {
    this.vertx = vertx;
    this.context = vertx.getOrCreateContext();
    this.job = job;
    this.askMillis = askMillis;
    this.drainMillis = drainMillis;
    this.cluster = cluster;
    node = job.cluster().nodeName(ProcessHandle.current().pid());
  }

  /** Starts watching; completes when the coordinator's messages can arrive. */
  public Future<Void> listen() {
    Promise<Void> listening = Promise.promise();
    context.runOnContext(
        go -> {
          timer = vertx.setPeriodic(askMillis, id -> ask());
          vertx
              .eventBus()
              .<JsonObject>consumer(job.addresses().control(), message -> onMessage(message.body()))
              .completion()
              .onComplete(listening);
        });
    return listening.future();
  }

  /**
   * Records that this process's member was admitted; from any thread. Before that the member itself
   * limits how long it waits for a coordinator and for a place. From now on the coordinator may be
   * silent for a limited time.
   */
  public void admitted() {
    context.runOnContext(
        go -> {
          admitted = true;
          lastAnswerNanos = System.nanoTime();
        });
  }

  /**
   * Records that a signal has asked this process to end; from any thread. It stays while the
   * coordinator's process is ending too, so that the run can be saved with what this member holds.
   * If the run goes on, it asks the coordinator for a successor, and leaves when its member has
   * handed its place over. A member that has yet to join a resumed run does that first. It leaves
   * after {@code exchange.drainSeconds}. It also leaves when the coordinator does not answer for
   * {@code exchange.evictMillis}.
   */
  public void askedToEnd() {
    context.runOnContext(
        go -> {
          askedToEnd = true;
          askedToEndNanos = System.nanoTime();
          if (state.equals(UNKNOWN) && !admitted) {
            leave("the coordinator has not answered yet");
          } else {
            ask();
            vertx.setTimer(SAME_SIGNAL_QUESTIONS * askMillis, id -> ask());
          }
        });
  }

  /** Completes when this process leaves a run that goes on, because it was asked to end. */
  public Future<Void> leaves() {
    return leaves.future();
  }

  /**
   * Completes when the coordinator releases its members, or with {@link #leaves}.
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
    if (node.equals(message.getString(DRAIN)) && !askedToEnd) {
      LOG.info("this member was asked to hand its place over; then this process ends");
      askedToEnd = true;
      memberSeen = true;
      // A user asks one member at a time, so no other process has the same request.
      askedToEndNanos = System.nanoTime() - SAME_SIGNAL_QUESTIONS * askMillis * NANOS_PER_MILLI;
    }
  }

  private void ask() {
    long now = System.nanoTime();
    long gapMillis = (now - askedNanos) / NANOS_PER_MILLI;
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
    } else if (askedToEnd
        && !answer.getBoolean("stops", false)
        && millisSince(askedToEndNanos) >= SAME_SIGNAL_QUESTIONS * askMillis) {
      drain();
    }
  }

  /** Asks the coordinator to have this process's member succeeded, and whether that was done. */
  private void drain() {
    if (millisSince(askedToEndNanos) >= drainMillis) {
      leave(
          "its member has not handed its place over within %s ms (exchange.drainSeconds)"
              .formatted(drainMillis));
      return;
    }
    DeliveryOptions limit = new DeliveryOptions().setSendTimeout(askMillis);
    vertx
        .eventBus()
        .<JsonObject>request(
            job.addresses().coordinator(),
            new JsonObject().put("request", DRAIN).put("node", node),
            limit)
        .onSuccess(
            answer -> {
              String done = answer.body().getString(UNKNOWN);
              if (done == null) {
                memberSeen = true;
              } else if (memberSeen || !admitted || hasNotJoinedAgain()) {
                leave("the run goes on, and it has no member of it");
              }
            });
  }

  /**
   * Returns whether its member, which was admitted before, stays out of the run. After a resume, or
   * when all servers go back, it joins again first, and then hands its place over.
   */
  private boolean hasNotJoinedAgain() {
    return !state.equals(WAITING) && millisSince(askedToEndNanos) >= job.exchange().evictMillis();
  }

  private void unanswered() {
    long silentMillis = millisSince(lastAnswerNanos);
    long waitedMillis = Math.min(silentMillis, millisSince(askedToEndNanos));
    if (askedToEnd && waitedMillis >= job.exchange().evictMillis()) {
      leave(
          "the coordinator has not answered for %s ms (exchange.evictMillis)"
              .formatted(silentMillis));
      return;
    }
    boolean known = !state.equals(UNKNOWN);
    long limit = 1_000L * (known ? job.exchange().orphanSeconds() : job.workers().waitSeconds());
    if (admitted && silentMillis > limit) {
      String silence =
          String.format(
              Locale.ROOT,
              "no coordinator of job \"%s\" has answered for %.0f s; its last word was %s",
              job.addresses().job(),
              silentMillis / 1e3,
              state);
      end(known ? new CoordinatorLostException(silence, true) : new JobFailedException(silence));
    }
  }

  private void leave(String why) {
    LOG.info("this process was asked to end, and leaves: {}", why);
    leaves.tryComplete();
    end(null);
  }

  private static long millisSince(long nanos) {
    return (System.nanoTime() - nanos) / NANOS_PER_MILLI;
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
