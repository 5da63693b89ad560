package io.vertigrad.launcher.deploy;

import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent.ProcessRestarted;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.run.RunView.Member;
import io.vertigrad.training.JobFailedException;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Runs each member of a job as a process of this machine that joins over the cluster.
 *
 * <p>A process that dies is started again, a few times, if a replacement can continue where the job
 * is. The job ends when a server or stage dies without a checkpoint, or when a member finds its
 * input wrong.
 */
public final class ProcessDeployment {

  private static final Logger LOG = LoggerFactory.getLogger(ProcessDeployment.class);
  private static final long STOP_SECONDS = 5;

  /** Exit codes of a process that a signal has asked to end: SIGHUP, SIGINT and SIGTERM. */
  private static final Set<Integer> ASKED_TO_END = Set.of(129, ExitStatus.INTERRUPTED, 143);

  /**
   * A process that was asked to end is replaced after this time, because this process may have been
   * asked too, with its whole process group, and not have handled the signal yet.
   */
  private static final long SAME_SIGNAL_MILLIS = 1_000;

  private static final long LOOK_MILLIS = 1_000;

  /** Processor time that a process which hangs does not take while the job waits for its start. */
  private static final long STARTING_MILLIS = 500;

  private final LocalMembers roles;
  private final PresentMembers present;
  private final EarlyProcesses early;
  private final NodeLaunch launch;
  private final CoordinatorVerticle coordinator;
  private final Consumer<String> report;
  private final BiConsumer<String, ShellCommand> offer;
  private final EventPublisher events;
  private final Restarts restarts;
  private final Map<ChildProcess, Role> children = new LinkedHashMap<>();
  private final Set<ChildProcess> replaceable = new HashSet<>();
  private final Set<ChildProcess> succeeded = new HashSet<>();
  private final Map<ChildProcess, Long> lifeSigns = new HashMap<>();
  private final Promise<Void> broken = Promise.promise();
  private final Vertx vertx;
  private volatile boolean stopping;
  private volatile boolean startsNothing;

  public ProcessDeployment(
      Vertx vertx,
      LocalMembers roles,
      PresentMembers present,
      EarlyProcesses early,
      NodeLaunch launch,
      CoordinatorVerticle coordinator,
      Consumer<String> report,
      BiConsumer<String, ShellCommand> offer) {
    this.vertx = vertx;
    this.roles = roles;
    this.present = present;
    this.early = early;
    this.launch = launch;
    this.coordinator = coordinator;
    this.report = report;
    this.offer = offer;
    events = new EventPublisher(vertx, launch.job().addresses());
    restarts = new Restarts(launch.job());
  }

  /** Starts every member; fails when a process cannot be started. */
  public Future<Void> start() {
    coordinator.onHungProcess(this::endHung);
    coordinator.onDrain(pid -> CompletableFuture.runAsync(() -> succeed(pid)));
    try {
      PresentMembers alive =
          new PresentMembers(present.members().stream().filter(this::watch).toList());
      LocalMembers missing = alive.missing(roles);
      for (Role role : Role.values()) {
        int left = missing.count(role);
        for (int rank = 0; left > 0; rank++) {
          if (!alive.has(role, rank)) {
            begin(role, rank);
            left--;
          }
        }
      }
      return Future.succeededFuture();
    } catch (IOException e) {
      stopAll();
      // The same signal may have ended the helper that starts processes.
      return vertx
          .timer(SAME_SIGNAL_MILLIS, TimeUnit.MILLISECONDS)
          .compose(
              later ->
                  Future.failedFuture(
                      new InputException("a process could not be started: " + e.getMessage(), e)));
    }
  }

  /** Starts no process any more, neither a first one nor a replacement; from any thread. */
  public void startNothing() {
    startsNothing = true;
  }

  /**
   * Reports to the coordinator which processes run, until the job has started. The job's wait for
   * them counts from the last sign of life: output, or processor time.
   */
  public void reportLifeSigns(Future<?> started) {
    long timer = vertx.setPeriodic(LOOK_MILLIS, id -> findLifeSigns());
    started.onComplete(now -> vertx.cancelTimer(timer));
  }

  private synchronized void findLifeSigns() {
    for (ChildProcess child : children.keySet()) {
      long sign = child.outputBytes() + child.processorMillis() / STARTING_MILLIS;
      if (child.isAlive() && !Objects.equals(lifeSigns.put(child, sign), sign)) {
        coordinator.processRuns(child.pid());
      }
    }
  }

  /** Starts a member. One that took part again and has ended since counts as a restart. */
  private void begin(Role role, int rank) throws IOException {
    String name = launch.name(role, rank);
    if (present.has(role, rank) && restarts.claim(name)) {
      launchAgain(role, name, name + " has ended since it took part again");
    } else {
      launch(role, name);
    }
  }

  /**
   * Watches a member that an earlier coordinator's process started, if it runs on this machine.
   *
   * @return false when its process has ended since it joined
   */
  private synchronized boolean watch(Member member) {
    OptionalLong pid = PresentMembers.pid(member, launch.job().cluster().host());
    if (pid.isEmpty()
        || children.keySet().stream().anyMatch(child -> child.pid() == pid.getAsLong())) {
      return true;
    }
    String name = launch.name(member.role(), member.rank());
    Optional<ChildProcess> found =
        ProcessHandle.of(pid.getAsLong())
            .map(process -> ChildProcess.found(name, launch.directory().path(), process))
            .filter(ChildProcess::isAlive);
    found.ifPresentOrElse(
        child -> watch(member.role(), child),
        () ->
            coordinator.processEnded(pid.getAsLong(), "its process %s has ended".formatted(name)));
    return found.isPresent();
  }

  private void watch(Role role, ChildProcess child) {
    children.put(child, role);
    if (restarts.lostWith(role).isEmpty()) {
      replaceable.add(child);
    }
    child.onExit().thenRun(() -> ended(role, child));
  }

  /** Returns the members' processes, running or not. */
  public synchronized List<ProcessHandle> processes() {
    return children.keySet().stream().map(ChildProcess::handle).toList();
  }

  /**
   * Returns a future that fails when the job can no longer finish because a member's process was
   * lost.
   */
  public Future<Void> broken() {
    return broken.future();
  }

  /**
   * Ends every member that still runs, within a few seconds and without Vert.x, which may be
   * closing.
   */
  public Future<Void> stop() {
    Promise<Void> stopped = Promise.promise();
    new Thread(
            () -> {
              stopAll();
              stopped.complete();
            },
            "stop-processes")
        .start();
    return stopped.future();
  }

  /** Starts a process, unless nothing is started any more; returns whether it was started. */
  private synchronized boolean launch(Role role, String name) throws IOException {
    if (stopping || startsNothing) {
      return false;
    }
    Optional<ChildProcess> waits = early.join(name, launch.joinAddress());
    watch(role, waits.isPresent() ? waits.get() : launch.start(role, name, restarts.made(name)));
    return true;
  }

  /**
   * Kills a hung process if it can be replaced. One that cannot be replaced is left alone: it may
   * run again, and nobody else has its part of the model.
   */
  private void endHung(long pid) {
    if (!stopping && !startsNothing) {
      killReplaceable(pid);
    }
  }

  private synchronized void killReplaceable(long pid) {
    children.keySet().stream()
        .filter(child -> child.pid() == pid && child.isAlive() && replaceable.contains(child))
        .forEach(
            child -> {
              LOG.warn(
                  "{} (process {}) was evicted and is silent since: it is ended and started again",
                  child.name(),
                  pid);
              child.kill();
            });
  }

  /**
   * Starts the process that takes the place of one that was asked to leave. It builds its model
   * while the other goes on, and counts as no restart.
   */
  private synchronized void succeed(long pid) {
    Optional<Map.Entry<ChildProcess, Role>> leaving =
        children.entrySet().stream()
            .filter(entry -> entry.getKey().pid() == pid && !succeeded.contains(entry.getKey()))
            // One that has ended already is restarted.
            .filter(entry -> entry.getKey().isAlive())
            .findFirst();
    if (stopping || startsNothing || leaving.isEmpty()) {
      return;
    }
    String name = leaving.get().getKey().name();
    try {
      String suffix = "-successor-" + (succeeded.size() + 1);
      watch(leaving.get().getValue(), launch.start(leaving.get().getValue(), name, suffix));
      succeeded.add(leaving.get().getKey());
    } catch (IOException e) {
      LOG.warn("{} has no successor: no process could be started: {}", name, e.getMessage());
    }
  }

  private synchronized boolean hasSuccessor(ChildProcess child) {
    return succeeded.contains(child);
  }

  private void ended(Role role, ChildProcess child) {
    if (stopping || child.exitCode() == ExitStatus.OK) {
      return;
    }
    boolean asked = ASKED_TO_END.contains(child.exitCode());
    boolean replaced = hasSuccessor(child);
    LOG.atLevel(replaced && asked ? Level.INFO : Level.WARN).log("{}", child.ending());
    coordinator.processEnded(
        child.pid(), "its process %s ended with %s".formatted(child.name(), child.exit()));
    if (startsNothing && asked || replaced && (asked || restarts.lostWith(role).isEmpty())) {
      return;
    }
    if (coordinator.result().isComplete()) {
      endedLate(role, child);
      return;
    }
    String lost = restarts.lostWith(role);
    if (child.exitCode() == ExitStatus.BAD_INPUT) {
      broken.tryFail(new InputException(child.name() + ": " + child.lastLine()));
    } else if (!lost.isEmpty()) {
      broken.tryFail(new JobFailedException(child.ending() + "; " + lost));
    } else if (asked) {
      unlessAskedToo(() -> replace(role, child));
    } else {
      replace(role, child);
    }
  }

  /**
   * Handles a process that died after the job's end. A server with a checkpoint is restarted,
   * because its part of the model is still to be saved. A stage's lost part cannot be computed
   * again.
   */
  private void endedLate(Role role, ChildProcess child) {
    if (role == Role.SERVER && restarts.lostWith(role).isEmpty()) {
      replace(role, child);
    } else if (restarts.holdsModel(role)) {
      broken.tryFail(
          new JobFailedException(
              child.ending() + "; the job was over by then, but its model not saved"));
    }
  }

  private void replace(Role role, ChildProcess child) {
    if (startsNothing) {
      return;
    }
    String name = child.name();
    if (!restarts.claim(name)) {
      report.accept(
          "%s; it was started again %s times in 10 minutes (cluster.restarts)"
              .formatted(child.ending(), restarts.limit()));
      offer.accept("replace it with", launch.byHand(role));
      return;
    }
    try {
      launchAgain(role, name, child.ending());
    } catch (IOException e) {
      // The signal may have ended the helper that starts processes.
      unlessAskedToo(
          () ->
              broken.tryFail(
                  new JobFailedException(
                      "%s; it could not be started again: %s"
                          .formatted(child.ending(), e.getMessage()))));
    }
  }

  /** Does something in a second, unless this process turns out to be asked to end as well. */
  private void unlessAskedToo(Runnable action) {
    CompletableFuture.delayedExecutor(SAME_SIGNAL_MILLIS, TimeUnit.MILLISECONDS)
        .execute(
            () -> {
              if (!startsNothing) {
                action.run();
              }
            });
  }

  private void launchAgain(Role role, String name, String reason) throws IOException {
    if (launch(role, name)) {
      events.publish(
          new ProcessRestarted(
              System.currentTimeMillis(), name, restarts.recent(name), restarts.limit(), reason));
    }
  }

  private synchronized void stopAll() {
    stopping = true;
    children.keySet().forEach(ChildProcess::ask);
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(STOP_SECONDS);
    children.keySet().forEach(child -> child.end(deadline - System.nanoTime()));
  }
}
