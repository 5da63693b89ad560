package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** Runs the members of a job, in this JVM or in processes. */
public interface Deployment {

  /** Returns a deployment that runs each of these members as a verticle of this JVM. */
  static Deployment embedded(Vertx vertx, JobConfig job, LocalMembers members) {
    return new EmbeddedDeployment(vertx, job, members);
  }

  /**
   * Returns a deployment that runs each member as a process of this machine.
   *
   * @param roles the members to start
   * @param present members that already run; they are watched as if they had been started here
   * @param early processes that already wait
   * @param launch starts the other processes
   * @param coordinator is notified of processes that died, and knows when the job is over
   * @param report takes a line about a member that died and is not started again
   * @param offer takes a label and the command that replaces such a member
   */
  static Deployment inProcesses(
      Vertx vertx,
      LocalMembers roles,
      PresentMembers present,
      EarlyProcesses early,
      NodeLaunch launch,
      CoordinatorVerticle coordinator,
      Consumer<String> report,
      BiConsumer<String, ShellCommand> offer) {
    return new ProcessDeployment(vertx, roles, present, early, launch, coordinator, report, offer);
  }

  /** Starts every member; fails when one cannot start. */
  Future<Void> start();

  /**
   * Returns a future that fails when the job can no longer finish because a member's process was
   * lost.
   */
  Future<Void> broken();

  /** Returns the members' processes, running or not. */
  default List<ProcessHandle> processes() {
    return List.of();
  }

  /**
   * Ends every member that still runs, within a few seconds and without Vert.x, which may be
   * closing.
   */
  Future<Void> stop();
}
