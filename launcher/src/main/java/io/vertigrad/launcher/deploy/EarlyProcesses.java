package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.training.LocalMembers;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Starts members' processes before there is a cluster to join. They load their classes and their
 * engine while the coordinator's process starts, and read the cluster's address from standard
 * input.
 *
 * <p>One thread at a time may use it.
 */
public final class EarlyProcesses {

  private final Map<String, ChildProcess> waiting = new HashMap<>();

  /** Returns no early processes: each member's process starts when it can join. */
  public static EarlyProcesses none() {
    return new EarlyProcesses();
  }

  /**
   * Starts one process for each member.
   *
   * @param roles the members to start
   * @param mainClass main class of the command line, started with {@code node}
   * @throws InputException when a process cannot be started
   */
  public static EarlyProcesses start(
      JobConfig job, RunDirectory directory, String mainClass, LocalMembers roles) {
    NodeLaunch launch = NodeLaunch.early(job, directory, mainClass);
    EarlyProcesses early = new EarlyProcesses();
    try {
      for (Role role : Role.values()) {
        for (int rank = 0; rank < roles.count(role); rank++) {
          String name = launch.name(role, rank);
          early.waiting.put(name, launch.start(role, name, 0));
        }
      }
      return early;
    } catch (IOException e) {
      early.end();
      throw new InputException("a process could not be started: " + e.getMessage(), e);
    }
  }

  /**
   * Returns the process that waits for this member, and sends it the address to join; empty when
   * none waits.
   */
  Optional<ChildProcess> join(String name, String address) {
    Optional<ChildProcess> child = Optional.ofNullable(waiting.remove(name));
    child.ifPresent(process -> process.send(address));
    return child;
  }

  /** Ends the processes that still wait, because there is no cluster for them. */
  public void end() {
    waiting.values().forEach(ChildProcess::kill);
    waiting.clear();
  }
}
