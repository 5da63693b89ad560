package io.vertigrad.dashboard;

import io.reactivex.rxjava3.disposables.Disposable;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvents;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.ClusterStreams;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts the messages of {@link RunMetrics} on the event bus: it publishes deltas three times a
 * second on {@code metrics.<job>} and answers snapshot requests at {@code metrics-requests.<job>}.
 * Its configuration is the job file.
 *
 * <p>It only listens: members do not know of it and never wait for it.
 */
public final class MetricsVerticle extends VerticleBase {

  private static final Logger LOG = LoggerFactory.getLogger(MetricsVerticle.class);
  private static final long WINDOW_MILLIS = 333;
  private static final int WINDOW_EVENTS = 4_096;

  private final Optional<String> token;
  private final String folder;
  private final List<TrainingEvent> window = new ArrayList<>();
  private RunMetrics metrics;
  private JobConfig job;
  private JsonObject snapshot;
  private Disposable events;

  /** Creates a verticle that shows the job and accepts no control requests. */
  public MetricsVerticle() {
    token = Optional.empty();
    folder = "";
  }

  /**
   * Creates a verticle that accepts control requests with this token, for example to stop the job
   * or to write a checkpoint.
   */
  public MetricsVerticle(String token) {
    this(token, "");
  }

  /**
   * Creates a verticle that accepts control requests with this token, for example to stop the job
   * or to write a checkpoint.
   *
   * @param folder folder of the run, as its command printed it; with it the page shows how to see
   *     the run again
   */
  public MetricsVerticle(String token, String folder) {
    this.token = Optional.of(token);
    this.folder = folder;
  }

  @Override
  public Future<?> start() {
    job = JobConfig.read("-conf", config());
    metrics = new RunMetrics(RunDescription.of(job, token.isPresent(), folder));
    MetricsRequestHandler requests = new MetricsRequestHandler(this::snapshot);
    token.ifPresent(secret -> requests.control(new JobControl(vertx, job.addresses(), secret)));
    events =
        TrainingEvents.of(vertx, job.addresses().job())
            .subscribe(this::onEvent, defect -> LOG.error("no more metrics", defect));
    vertx.setPeriodic(WINDOW_MILLIS, timer -> advance());
    return ClusterStreams.authenticate(vertx, job)
        .compose(proved -> requests.open(vertx, job.addresses()));
  }

  @Override
  public Future<?> stop() {
    events.dispose();
    return Future.succeededFuture();
  }

  /**
   * Publishes the last changes at once, because this process may end before the next delta; from
   * any thread, once deployed.
   *
   * @param summary summary of a finished run, as in {@code summary.json}; empty for a failed run
   * @return completes when the last delta is on the bus
   */
  public Future<Void> conclude(Optional<JsonObject> summary) {
    Promise<Void> published = Promise.promise();
    context.runOnContext(
        go -> {
          summary.ifPresent(metrics::summarize);
          advance();
          published.complete();
        });
    return published.future();
  }

  private void onEvent(TrainingEvent event) {
    window.add(event);
    if (window.size() == WINDOW_EVENTS) {
      advance();
    }
  }

  private void advance() {
    snapshot = null;
    List<TrainingEvent> events = List.copyOf(window);
    window.clear();
    JsonObject delta = metrics.advance(events, System.currentTimeMillis());
    vertx.eventBus().publish(job.addresses().metrics(), delta);
  }

  /** Returns one snapshot for all requests within a window. */
  private JsonObject snapshot() {
    if (snapshot == null) {
      snapshot = metrics.snapshot(System.currentTimeMillis());
    }
    return snapshot;
  }
}
