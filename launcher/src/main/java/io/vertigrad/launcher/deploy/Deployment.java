package io.vertigrad.launcher.deploy;

import io.vertx.core.Future;
import java.util.List;

/** Where the members of a job run. */
public interface Deployment {

  /** Starts every member; fails when one cannot start. */
  Future<Void> start();

  /** Fails when the job can no longer end well because of where its members run. */
  Future<Void> broken();

  /** Processes of members, running or not. */
  default List<ProcessHandle> processes() {
    return List.of();
  }

  /**
   * Ends every member that is still there, within a few seconds and without Vert.x, which may
   * close.
   */
  Future<Void> stop();
}
