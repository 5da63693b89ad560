package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.job.LocalSettings;
import io.vertigrad.launcher.job.ShellCommand;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.strategy.ServerStrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import java.io.IOException;
import java.util.ArrayList;
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
    List<String> arguments = new ArrayList<>(byHand(role).words());
    arguments.add(1, ChildProcess.WITH_PARENT);
    String resumed = job.run().resumes() == 0 ? "" : "-resume-" + job.run().resumes();
    String log = name + resumed + (restarts == 0 ? "" : "-restart-" + restarts);
    return ChildProcess.start(name, directory.log(log), mainClass, arguments);
  }

  /** What a person types to start one, on this machine and in this folder. */
  public ShellCommand byHand(Role role) {
    List<String> words = new ArrayList<>();
    words.addAll(List.of("node", "--role", RoleName.of(job, role), "--join", joinAddress));
    words.addAll(List.of("--secret", directory.secret(job).toString()));
    words.addAll(LocalSettings.options(job, keepsCheckpoints(role)));
    words.add(directory.job().toString());
    return new ShellCommand(words);
  }

  private boolean keepsCheckpoints(Role role) {
    boolean besideServers =
        StrategyProviders.configure(job.strategy(), NodeLaunch.class.getClassLoader())
            instanceof ServerStrategyFactory;
    boolean owes = job.exchange().compression().isOn();
    return role == Role.SERVER || role == Role.WORKER && (owes || !besideServers);
  }
}
