package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import java.util.HashMap;
import java.util.Map;

/**
 * Decides which members of a job can be replaced after they died, and counts their restarts.
 *
 * <p>Any thread may use it, because processes may end at the same time.
 */
final class Restarts {

  private final JobConfig job;
  private final Map<String, Integer> made = new HashMap<>();

  Restarts(JobConfig job) {
    this.job = job;
  }

  /**
   * Returns what is lost for good with a member of this role; empty when a replacement can
   * continue.
   */
  String lostWith(Role role) {
    return holdsModel(role) && !job.checkpoint().isOn()
        ? "its parameters are lost, because checkpoint.seconds is 0; with checkpoints it would"
            + " have been started again"
        : "";
  }

  /** Returns true when a member of this role is the only one with its part of the model. */
  boolean holdsModel(Role role) {
    return role == Role.SERVER || role == Role.WORKER && job.pipeline().isPresent();
  }

  /** Returns true when this process may be started once more, and counts that restart. */
  synchronized boolean claim(String process) {
    boolean left = made(process) < limit();
    if (left) {
      made.merge(process, 1, Integer::sum);
    }
    return left;
  }

  /** Returns how often this process was started again. */
  synchronized int made(String process) {
    return made.getOrDefault(process, 0);
  }

  /** Returns how often each process may be started again. */
  int limit() {
    return job.cluster().restarts();
  }
}
