package io.vertigrad.verticles.metrics;

import io.reactivex.rxjava3.disposables.Disposable;
import io.vertigrad.verticles.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonObject;
import io.vertx.rxjava3.RxHelper;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells dashboards about a job, whose file is its configuration: numbered deltas three times a
 * second on {@code metrics.<job>}, and a snapshot on request at {@code metrics-requests.<job>}.
 *
 * <p>It only listens: no member knows of it, and none waits for it.
 */
public final class MetricsVerticle extends VerticleBase {

  private static final Logger LOG = LoggerFactory.getLogger(MetricsVerticle.class);
  private static final long WINDOW_MILLIS = 333;
  private static final int WINDOW_EVENTS = 4_096;

  private final Optional<String> token;
  private RunMetrics metrics;
  private JobConfig job;
  private JsonObject snapshot;
  private Disposable windows;

  /** Shows the job and lets nobody control it. */
  public MetricsVerticle() {
    token = Optional.empty();
  }

  /** Lets whoever knows the token stop the job, or have it write a checkpoint. */
  public MetricsVerticle(String token) {
    this.token = Optional.of(token);
  }

  @Override
  public Future<?> start() {
    job = JobConfig.read("-conf", config());
    metrics = new RunMetrics(RunDescription.of(job, token.isPresent()));
    RequestDesk desk = new RequestDesk(this::snapshot);
    token.ifPresent(secret -> desk.control(new JobControl(vertx, job.addresses(), secret)));
    windows =
        TrainingEvents.of(vertx, job.addresses().job())
            .buffer(
                WINDOW_MILLIS, TimeUnit.MILLISECONDS, RxHelper.scheduler(context), WINDOW_EVENTS)
            .subscribe(this::advance, defect -> LOG.error("no more metrics", defect));
    return desk.open(vertx, job.addresses());
  }

  @Override
  public Future<?> stop() {
    windows.dispose();
    return Future.succeededFuture();
  }

  private void advance(List<TrainingEvent> window) {
    snapshot = null;
    JsonObject delta = metrics.advance(window, System.currentTimeMillis());
    vertx.eventBus().publish(job.addresses().metrics(), delta);
  }

  /** One for all who ask within a window. */
  private JsonObject snapshot() {
    if (snapshot == null) {
      snapshot = metrics.snapshot(System.currentTimeMillis());
    }
    return snapshot;
  }
}
