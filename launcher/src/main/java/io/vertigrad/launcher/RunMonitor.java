package io.vertigrad.launcher;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.deploy.PresentMembers;
import io.vertigrad.launcher.deploy.PresentMembers.Present;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.EpochLog;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunProgress;
import io.vertigrad.launcher.run.RunRecorder;
import io.vertigrad.launcher.terminal.Display;
import io.vertigrad.launcher.tracking.RunTrackers;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * Hears a job's events, folds them, records them and shows them, in the order they come.
 *
 * <p>Events arrive on an event loop; {@link #progress()} and {@link #close()} may be called by any
 * thread once the job is over.
 */
final class RunMonitor implements AutoCloseable {

  private final RunProgress progress = new RunProgress(System::nanoTime);
  private final RunRecorder recorder;
  private final EpochLog epochs;
  private final RunTrackers trackers;
  private final Display display;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile Membership membership = Membership.NONE;
  private final Promise<Void> started = Promise.promise();
  private final Promise<Void> ended = Promise.promise();
  private final Map<String, Present> present = new LinkedHashMap<>();
  private boolean closed;

  RunMonitor(JobConfig job, RunDirectory directory, Display display) {
    this.recorder = new RunRecorder(directory.events(), display::say);
    if (job.run().resumes() > 0) {
      progress.startedBefore(job.run().firstIncarnation());
    }
    this.epochs = new EpochLog(directory.epochs(), job, display::say);
    this.display = display;
    this.trackers = RunTrackers.of(job, directory, this::say);
  }

  /** Starts listening; completes when nothing can be missed any more. */
  Future<Void> listen(Vertx vertx, Addresses addresses) {
    MessageConsumer<JsonObject> events =
        vertx.eventBus().consumer(addresses.events(), message -> hear(message.body()));
    MessageConsumer<JsonObject> control =
        vertx.eventBus().consumer(addresses.control(), message -> follow(message.body()));
    return Future.all(events.completion(), control.completion()).mapEmpty();
  }

  /** Where the run stands. */
  RunProgress progress() {
    return progress;
  }

  /** Something about where the run stands, while events still come; from any thread. */
  <T> T ask(Function<RunProgress, T> question) {
    lock.lock();
    try {
      return question.apply(progress);
    } finally {
      lock.unlock();
    }
  }

  /** Who takes part, as the coordinator said last. */
  Membership membership() {
    return membership;
  }

  /** Who has joined and not left; from any thread. */
  PresentMembers present() {
    lock.lock();
    try {
      return new PresentMembers(List.copyOf(present.values()));
    } finally {
      lock.unlock();
    }
  }

  private void follow(TrainingEvent event) {
    if (event instanceof MemberJoined joined) {
      Role role = Role.valueOf(joined.role().toUpperCase(Locale.ROOT));
      present.put(
          joined.role() + " " + joined.rank(), new Present(role, joined.rank(), joined.node()));
    } else if (event instanceof MemberLeft left) {
      present.remove(left.role() + " " + left.rank());
    }
  }

  /** Says something that is no event; from any thread. */
  void say(String line) {
    locked(() -> display.say(line));
  }

  /** Offers a command that may be pasted; from any thread. */
  void offer(String label, ShellCommand command) {
    locked(() -> display.offer(label, command.toString()));
  }

  /** Completes when the job's start was heard of. */
  Future<Void> started() {
    return started.future();
  }

  /** Completes when the job's end was heard of: everything that came before it was, too. */
  Future<Void> ended() {
    return ended.future();
  }

  /** Takes an event that did not come over the bus. */
  void hear(TrainingEvent event) {
    locked(
        () -> {
          progress.apply(event);
          follow(event);
          recorder.record(event);
          epochs.record(event);
          trackers.record(event);
          if (progress.started().isPresent() || !(event instanceof WorkerProgress)) {
            display.show(event, progress);
          }
        });
    if (event instanceof JobStarted) {
      started.tryComplete();
    } else if (event instanceof JobFinished) {
      ended.tryComplete();
    }
  }

  /** Stops recording; later events are not heard. May take seconds where a server is told. */
  @Override
  public void close() {
    locked(trackers::finish);
    // Without the lock: a tracker that gives up says so.
    trackers.close();
    locked(
        () -> {
          closed = true;
          recorder.close();
          epochs.close();
        });
  }

  private void hear(JsonObject json) {
    TrainingEvent event = TrainingEvent.fromJson(json);
    if (event != null) {
      hear(event);
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
