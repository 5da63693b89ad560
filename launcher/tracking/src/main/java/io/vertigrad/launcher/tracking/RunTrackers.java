package io.vertigrad.launcher.tracking;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TrackingConfig;
import io.vertigrad.run.RunView;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * Runs the trackers that a job file's {@code tracking} section asks for: they report the run to
 * other programs while it runs.
 *
 * <p>One thread at a time may use it, except that any thread may call {@link #close()}. That call
 * comes last and may take a few seconds.
 */
public final class RunTrackers implements AutoCloseable {

  private final RunView view;
  private final TrackedMetrics metrics;
  private final List<Tracker> trackers;
  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile Tracker.End end = Tracker.End.STOPPED;
  private boolean finished;

  private RunTrackers(JobConfig job, RunView view, List<Tracker> trackers) {
    this.view = view;
    this.metrics = new TrackedMetrics(job, view);
    this.trackers = trackers;
  }

  /**
   * Creates the trackers of one run.
   *
   * @param folder the run's folder, for the event files and for the id of the run in MLflow
   * @param view the run, which includes each event before it is recorded here
   * @param onProblem called once by each tracker when it can report no more; from any thread
   */
  public static RunTrackers of(
      JobConfig job, Path folder, RunView view, Consumer<String> onProblem) {
    TrackingConfig asked = job.tracking();
    List<Tracker> trackers = new ArrayList<>();
    if (asked.tensorboard()) {
      trackers.add(new TensorBoardFile(folder, System.currentTimeMillis(), onProblem));
    }
    asked
        .mlflow()
        .ifPresent(server -> trackers.add(new MlflowTracker(server, job, folder, onProblem)));
    return new RunTrackers(job, view, trackers);
  }

  /** Processes the next event. */
  public void record(TrainingEvent event) {
    if (trackers.isEmpty() || finished) {
      return;
    }
    send(metrics.record(event));
  }

  /** Reports the remaining points; later events are ignored. */
  public void finish() {
    if (!finished) {
      send(metrics.rest());
      end = end();
      finished = true;
    }
  }

  /**
   * Reports how the run ended, and waits a few seconds until everything is sent; a second call does
   * nothing.
   */
  @Override
  public void close() {
    if (!closed.getAndSet(true)) {
      trackers.forEach(tracker -> tracker.end(end));
    }
  }

  private Tracker.End end() {
    return switch (view.phase()) {
      case FINISHED -> Tracker.End.FINISHED;
      case FAILED -> Tracker.End.FAILED;
      case WAITING, RUNNING, PAUSED, STOPPED -> Tracker.End.STOPPED;
    };
  }

  private void send(List<Metric> points) {
    if (!points.isEmpty()) {
      trackers.forEach(tracker -> tracker.add(points));
    }
  }
}
