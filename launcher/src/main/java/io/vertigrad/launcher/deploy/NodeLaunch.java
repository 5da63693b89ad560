package io.vertigrad.launcher.deploy;

import io.vertigrad.internal.cluster.JoinPoint;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.job.LocalSettings;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Starts a process for a member of a job, or prints how to start one.
 *
 * @param job the job
 * @param directory the run's directory
 * @param joinAddress address at which processes of this machine join the cluster, {@code HOST:PORT}
 * @param joinPort address at which all others ask for the job, {@code HOST:PORT}
 * @param mainClass main class of the command line, started with {@code node}
 */
public record NodeLaunch(
    JobConfig job, RunDirectory directory, String joinAddress, String joinPort, String mainClass) {

  /** Stands for an address that is sent later, on standard input. */
  public static final String TOLD_LATER = "-";

  /** Returns the launch of processes that wait for the cluster's address. */
  static NodeLaunch early(JobConfig job, RunDirectory directory, String mainClass) {
    return new NodeLaunch(job, directory, TOLD_LATER, TOLD_LATER, mainClass);
  }

  /** Returns the name of a member's process. */
  String name(Role role, int rank) {
    return RoleName.of(job, role) + "-" + rank;
  }

  /** Starts a process. Each restart has its own log. */
  ChildProcess start(Role role, String name, int restarts) throws IOException {
    return start(role, name, restarts == 0 ? "" : "-restart-" + restarts);
  }

  /** Starts a process whose log has this suffix. */
  ChildProcess start(Role role, String name, String suffix) throws IOException {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("node", ChildProcess.WITH_PARENT, "--join", joinAddress));
    arguments.addAll(options(role, directory.secret(job)));
    arguments.addAll(LocalSettings.options(job));
    arguments.addAll(List.of("--job", directory.job().toString()));
    String resumed = job.run().resumes() == 0 ? "" : "-resume-" + job.run().resumes();
    String log = name + resumed + suffix;
    return ChildProcess.start(name, directory.log(log), mainClass, arguments);
  }

  /** Returns the command that starts a member on this machine, in any folder. */
  public ShellCommand byHand(Role role) {
    List<String> words = new ArrayList<>(List.of("node", "--job", joinPort));
    words.addAll(options(role, directory.secret(job).toAbsolutePath()));
    words.addAll(LocalSettings.absolute(job));
    return new ShellCommand(words);
  }

  /**
   * Returns a line with the command that starts a node on another machine, which has no files of
   * this run. Its data and certificates are where its own variables say, or where they are here.
   */
  public String elsewhere() {
    String host = job.cluster().host();
    if (JoinPoint.isLoopback(host)) {
      return "nodes of other machines cannot reach %s: give train --host ADDRESS for them"
          .formatted(host);
    }
    List<String> others = LocalSettings.portable(job);
    List<String> words = new ArrayList<>(List.of("node", "--job", joinPort, "--role", "worker"));
    String copy = "";
    if (job.cluster().secretFile().isEmpty()) {
      // A secret of this run alone: the other machine cannot have it yet.
      words.addAll(List.of("--secret", RunDirectory.SECRET));
      String secret = host + ":" + directory.secret(job).toAbsolutePath();
      copy = "scp -p %s %s && ".formatted(ShellCommand.quoted(secret), RunDirectory.SECRET);
    }
    words.addAll(others);
    return "on another machine%s: %s%s%s"
        .formatted(
            others.isEmpty() ? "" : ", with the paths that its own files have there",
            copy,
            new ShellCommand(words),
            LocalSettings.pathsOf(job));
  }

  private List<String> options(Role role, Path secret) {
    return List.of("--secret", secret.toString(), "--role", RoleName.of(job, role));
  }
}
