package io.vertigrad.launcher.tracking;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TrackingConfig;
import io.vertigrad.launcher.run.RunDirectory;
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

  private final RunMetrics metrics;
  private final List<Tracker> trackers;
  private final AtomicBoolean closed = new AtomicBoolean();
  private volatile Tracker.End end = Tracker.End.STOPPED;
  private boolean finished;

  private RunTrackers(RunMetrics metrics, List<Tracker> trackers) {
    this.metrics = metrics;
    this.trackers = trackers;
  }

  /**
   * Creates the trackers of one run.
   *
   * @param directory folder of the event files
   * @param trouble called once by each tracker when it can report no more; from any thread
   */
  public static RunTrackers of(JobConfig job, RunDirectory directory, Consumer<String> trouble) {
    TrackingConfig asked = job.tracking();
    List<Tracker> trackers = new ArrayList<>();
    if (asked.tensorboard()) {
      trackers.add(new TensorBoardFile(directory.path(), System.currentTimeMillis(), trouble));
    }
    asked
        .mlflow()
        .ifPresent(server -> trackers.add(new MlflowTracker(server, job, directory, trouble)));
    return new RunTrackers(new RunMetrics(job), trackers);
  }

  /** Processes the next event. */
  public void record(TrainingEvent event) {
    if (trackers.isEmpty() || finished) {
      return;
    }
    send(metrics.record(event));
    if (event instanceof JobFinished) {
      end = Tracker.End.FINISHED;
    } else if (event instanceof JobFailed) {
      end = Tracker.End.FAILED;
    }
  }

  /** Reports the remaining points; later events are ignored. */
  public void finish() {
    if (!finished) {
      send(metrics.rest());
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

  private void send(List<Metric> points) {
    if (!points.isEmpty()) {
      trackers.forEach(tracker -> tracker.add(points));
    }
  }
}
