package io.vertigrad.launcher.tracking;

import java.util.List;

/** Receives the points of a run's curves; it neither fails nor delays the run. */
interface Tracker {

  /** The ways in which a run may end. */
  enum End {
    FINISHED,
    FAILED,
    STOPPED
  }

  /** Adds points that belong together. */
  void add(List<Metric> metrics);

  /** Ends the tracking when the run is over. Returns within a few seconds. */
  void end(End how);
}
