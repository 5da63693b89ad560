package io.vertigrad.launcher.deploy;

import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.verticles.coordinator.Role;
import io.vertigrad.verticles.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Members of a job, each as a process of this machine, joined over the cluster.
 *
 * <p>A worker that dies is reported and the job goes on; a server that dies ends it, and so does a
 * member that finds its input wrong.
 */
public final class ProcessDeployment implements Deployment {

  private static final long STOP_SECONDS = 5;

  private final Vertx vertx;
  private final JobConfig job;
  private final Crew crew;
  private final RunDirectory directory;
  private final String joinAddress;
  private final String mainClass;
  private final Consumer<String> report;
  private final List<ChildProcess> children = new ArrayList<>();
  private final Promise<Void> broken = Promise.promise();
  private volatile boolean stopping;

  /**
   * Prepares the processes.
   *
   * @param crew whom to start
   * @param joinAddress where they join, {@code HOST:PORT}
   * @param mainClass the command line's, started with {@code node}
   * @param report takes a line about a member that died while the job goes on
   */
  public ProcessDeployment(
      Vertx vertx,
      JobConfig job,
      Crew crew,
      RunDirectory directory,
      String joinAddress,
      String mainClass,
      Consumer<String> report) {
    this.vertx = vertx;
    this.job = job;
    this.crew = crew;
    this.directory = directory;
    this.joinAddress = joinAddress;
    this.mainClass = mainClass;
    this.report = report;
  }

  @Override
  public Future<Void> start() {
    try {
      for (Role role : Role.values()) {
        for (int i = 0; i < crew.count(role); i++) {
          launch(role, RoleVerticles.name(job, role) + "-" + i);
        }
      }
      return Future.succeededFuture();
    } catch (IOException e) {
      stopAll();
      return Future.failedFuture(
          new InputException("a process could not be started: " + e.getMessage(), e));
    }
  }

  @Override
  public Future<Void> broken() {
    return broken.future();
  }

  @Override
  public Future<Void> stop() {
    return vertx.executeBlocking(
        () -> {
          stopAll();
          return null;
        });
  }

  /** Not while, or after, all are stopped. */
  private synchronized void launch(Role role, String name) throws IOException {
    if (stopping) {
      return;
    }
    List<String> arguments =
        List.of(
            "node",
            ChildProcess.WITH_PARENT,
            "--role",
            RoleVerticles.name(job, role),
            "--join",
            joinAddress,
            directory.job().toString());
    ChildProcess child = ChildProcess.start(name, directory.log(name), mainClass, arguments);
    children.add(child);
    child.onExit().thenRun(() -> ended(role, child));
  }

  private void ended(Role role, ChildProcess child) {
    if (stopping) {
      return;
    }
    if (child.exitCode() == ExitStatus.BAD_INPUT) {
      broken.tryFail(new InputException(child.name() + ": " + child.lastLine()));
    } else if (role == Role.SERVER) {
      broken.tryFail(new JobFailedException(child.ending()));
    } else {
      report.accept(child.ending());
      report.accept("replace it with: " + replacement(role));
    }
  }

  private String replacement(Role role) {
    return "./vertigrad node --role %s --join %s %s"
        .formatted(RoleVerticles.name(job, role), joinAddress, directory.job());
  }

  private synchronized void stopAll() {
    stopping = true;
    children.forEach(ChildProcess::ask);
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(STOP_SECONDS);
    children.forEach(child -> child.end(deadline - System.nanoTime()));
  }
}
