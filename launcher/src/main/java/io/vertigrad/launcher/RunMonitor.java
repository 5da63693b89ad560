package io.vertigrad.launcher;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.deploy.OutlierNotice;
import io.vertigrad.launcher.deploy.StartProgress;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.EpochLog;
import io.vertigrad.launcher.run.RefusedJoins;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.launcher.run.RunRecorder;
import io.vertigrad.launcher.terminal.Display;
import io.vertigrad.launcher.tracking.RunTrackers;
import io.vertigrad.observability.EventFold;
import io.vertigrad.observability.UpdateOutliers.Outlier;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The launcher's subscription to a job's events. Passes each to {@link RunProgress}, the run's
 * files, the trackers and the terminal, in the order of arrival.
 *
 * <p>Events arrive on an event loop; any thread may call {@link #progress()} and {@link #close()}
 * once the job has ended.
 */
final class RunMonitor implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(RunMonitor.class);

  private final RunProgress progress;
  private final RunRecorder recorder;
  private final EpochLog epochs;
  private final RunTrackers trackers;
  private final Display display;
  private final RefusedJoins refusedJoins;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile Membership membership = Membership.NONE;
  private final Promise<Void> started = Promise.promise();
  private final Promise<Void> ended = Promise.promise();

  /** What follows from an event without the lock. */
  private final EventFold outside =
      new EventFold()
          .on(UpdateRefused.class, RunMonitor::log)
          .on(Evaluated.class, this::onTest)
          .on(JobStarted.class, start -> started.tryComplete())
          .on(JobFinished.class, finish -> ended.tryComplete())
          .on(JobFailed.class, failure -> ended.tryComplete())
          .on(JobStopped.class, stop -> ended.tryComplete());

  private volatile Consumer<OutlierNotice> notices = notice -> {};
  private final Promise<Void> tested = Promise.promise();
  private volatile long testedVersion = Long.MAX_VALUE;
  private Optional<StartProgress> waiting = Optional.empty();
  private boolean closed;

  RunMonitor(JobConfig job, RunDirectory directory, Display display) {
    this.recorder = new RunRecorder(directory, display::say);
    this.progress = new RunProgress(System::nanoTime, job.run().firstIncarnation());
    this.epochs = new EpochLog(directory.epochs(), job, progress.view(), display::say);
    this.display = display;
    this.refusedJoins = RefusedJoins.showOn(this::say);
    this.trackers = RunTrackers.of(job, directory.path(), progress.view(), this::say);
  }

  /** Starts listening; completes when no later event can be missed. */
  Future<Void> listen(Vertx vertx, Addresses addresses) {
    MessageConsumer<JsonObject> events =
        vertx.eventBus().consumer(addresses.events(), message -> onEvent(message.body()));
    MessageConsumer<JsonObject> control =
        vertx.eventBus().consumer(addresses.control(), message -> follow(message.body()));
    notices = notice -> notice.publish(vertx, addresses);
    return Future.all(events.completion(), control.completion()).mapEmpty();
  }

  /** Returns the run's progress. */
  RunProgress progress() {
    return progress;
  }

  /** Answers a question about the run's progress while events still arrive; from any thread. */
  <T> T ask(Function<RunProgress, T> question) {
    lock.lock();
    try {
      return question.apply(progress);
    } finally {
      lock.unlock();
    }
  }

  /** Returns the members, as the coordinator reported them last. */
  Membership membership() {
    return membership;
  }

  /** Passes later events to the report of the members that the job waits for; from any thread. */
  void reportTo(StartProgress report) {
    locked(() -> waiting = Optional.of(report));
  }

  /** Displays a line that is not an event; from any thread. */
  void say(String line) {
    locked(() -> display.say(line));
  }

  /** Displays a command that the user may paste; from any thread. */
  void offer(String label, ShellCommand command) {
    locked(() -> display.offer(label, command.toString()));
  }

  /** Completes when the job's start event has arrived. */
  Future<Void> started() {
    return started.future();
  }

  /**
   * Completes when the job's end event has arrived; every earlier event has arrived by then too.
   */
  Future<Void> ended() {
    return ended.future();
  }

  /**
   * Completes when a test of this version or a later one has arrived. Call it before {@link
   * #listen}, and for one version only.
   */
  Future<Void> tested(long version) {
    testedVersion = version;
    return tested.future();
  }

  private void onTest(Evaluated test) {
    if (test.version() >= testedVersion) {
      tested.tryComplete();
    }
  }

  /** Takes an event that did not come over the bus. */
  void onEvent(TrainingEvent event) {
    locked(
        () -> {
          progress.apply(event);
          recorder.record(event);
          epochs.record(event);
          trackers.record(event);
          if (progress.view().started().isPresent() || !(event instanceof WorkerProgress)) {
            display.show(event, progress);
          }
          waiting.ifPresent(report -> report.record(event));
          progress.outliers().takeFresh().forEach(this::show);
          progress
              .takeExchangedSamples()
              .forEach(
                  sentence -> {
                    LOG.warn("{}", sentence);
                    display.say("WARNING: " + sentence);
                  });
        });
    outside.apply(event);
  }

  /** Shows a worker's wrong updates here, and to the operator of its process. */
  private void show(Outlier outlier) {
    LOG.warn("{}", outlier.sentence());
    display.say(outlier.sentence());
    progress
        .view()
        .member(Role.WORKER, outlier.rank())
        .map(member -> new OutlierNotice(member.node(), outlier.sentence()))
        .ifPresent(notices);
  }

  private static void log(UpdateRefused refused) {
    LOG.info(
        "shard {} refused step {} of worker {}: {}",
        refused.shard(),
        refused.step(),
        refused.rank(),
        refused.reason());
  }

  /**
   * Stops recording and ignores later events. May take seconds when a tracking server has to be
   * notified.
   */
  @Override
  public void close() {
    refusedJoins.close();
    locked(trackers::finish);
    // Outside the lock: a tracker that gives up displays a line.
    trackers.close();
    locked(
        () -> {
          closed = true;
          recorder.close();
          epochs.close();
        });
  }

  private void onEvent(JsonObject json) {
    TrainingEvent event = TrainingEvent.fromJson(json);
    if (event != null) {
      onEvent(event);
    }
  }

  private void follow(JsonObject message) {
    JsonObject now = message.getJsonObject("membership");
    if (now != null) {
      membership = Membership.fromJson(now);
    }
  }

  private void locked(Runnable action) {
    lock.lock();
    try {
      if (!closed) {
        action.run();
      }
    } finally {
      lock.unlock();
    }
  }
}
