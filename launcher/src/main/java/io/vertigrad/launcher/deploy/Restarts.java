package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import java.util.HashMap;
import java.util.Map;

/**
 * Which members of a job can come back after they died, and how often they are started again.
 *
 * <p>Processes may end at once: usable from any thread.
 */
final class Restarts {

  private final JobConfig job;
  private final Map<String, Integer> made = new HashMap<>();

  Restarts(JobConfig job) {
    this.job = job;
  }

  /** What is lost for good with a member of this role; empty when a replacement can go on. */
  String lostWith(Role role) {
    boolean hasBackup = role == Role.SERVER && job.servers().replicas() > 0;
    return holdsModel(role) && !job.checkpoint().isOn() && !hasBackup
        ? "its parameters are lost, because checkpoint.seconds is 0; with checkpoints it would"
            + " have been started again"
        : "";
  }

  /** True when a member of this role is the only one with its part of the model. */
  boolean holdsModel(Role role) {
    return role == Role.SERVER || role == Role.WORKER && job.pipeline().isPresent();
  }

  /** True when this process may be started once more; counts it. */
  synchronized boolean claim(String process) {
    boolean left = made(process) < limit();
    if (left) {
      made.merge(process, 1, Integer::sum);
    }
    return left;
  }

  /** How often this process was started again. */
  synchronized int made(String process) {
    return made.getOrDefault(process, 0);
  }

  /** How often each may be. */
  int limit() {
    return job.cluster().restarts();
  }
}
