package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Decides which members of a job can be replaced after they died, and counts their restarts. A
 * restart of {@value #FORGOTTEN_MINUTES} minutes ago no longer counts, so that a long run survives
 * a failure now and then, and a process that dies again and again is given up.
 *
 * <p>Any thread may use it, because processes may end at the same time.
 */
final class Restarts {

  private static final long FORGOTTEN_MINUTES = 10;

  private final JobConfig job;
  private final LongSupplier nanoTime;
  private final Map<String, List<Long>> made = new HashMap<>();

  Restarts(JobConfig job) {
    this(job, System::nanoTime);
  }

  /** Creates counters of no restarts, with a clock in nanoseconds. */
  Restarts(JobConfig job, LongSupplier nanoTime) {
    this.job = job;
    this.nanoTime = nanoTime;
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
    boolean left = recent(process) < limit();
    if (left) {
      made.computeIfAbsent(process, first -> new ArrayList<>()).add(nanoTime.getAsLong());
    }
    return left;
  }

  /** Returns how often this process was started again. */
  synchronized int made(String process) {
    return made.getOrDefault(process, List.of()).size();
  }

  /** Returns how many restarts of this process still count. */
  synchronized int recent(String process) {
    long now = nanoTime.getAsLong();
    return (int)
        made.getOrDefault(process, List.of()).stream()
            .filter(time -> now - time < TimeUnit.MINUTES.toNanos(FORGOTTEN_MINUTES))
            .count();
  }

  /** Returns how often each process may be started again within {@link #FORGOTTEN_MINUTES}. */
  int limit() {
    return job.cluster().restarts();
  }
}
