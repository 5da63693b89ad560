package io.vertigrad.launcher.deploy;

import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.verticles.coordinator.Role;
import io.vertigrad.verticles.job.JobConfig;
import java.io.IOException;
import java.util.List;

/**
 * How a member of a job gets a process of its own.
 *
 * @param job which job
 * @param directory the run's
 * @param joinAddress where members join, {@code HOST:PORT}
 * @param mainClass the command line's, started with {@code node}
 */
public record NodeLaunch(
    JobConfig job, RunDirectory directory, String joinAddress, String mainClass) {

  /** Starts one, with its output in a log of its own for each time it is started again. */
  ChildProcess start(Role role, String name, int restarts) throws IOException {
    List<String> arguments =
        List.of(
            "node",
            ChildProcess.WITH_PARENT,
            "--role",
            RoleVerticles.name(job, role),
            "--join",
            joinAddress,
            directory.job().toString());
    String log = restarts == 0 ? name : name + "-restart-" + restarts;
    return ChildProcess.start(name, directory.log(log), mainClass, arguments);
  }

  /** What a person types to start one. */
  String byHand(Role role) {
    return "./vertigrad node --role %s --join %s %s"
        .formatted(RoleVerticles.name(job, role), joinAddress, directory.job());
  }
}
