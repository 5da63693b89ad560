package io.vertigrad.launcher.deploy;

import io.vertx.core.Future;
import java.util.List;

/** Runs the members of a job, in this JVM or in processes. */
public interface Deployment {

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
