package io.vertigrad.launcher.tracking;

import java.util.List;

/** Takes the points of a run's curves; it neither fails the run nor holds it up. */
interface Tracker {

  /** How a run may end. */
  enum End {
    FINISHED,
    FAILED,
    STOPPED
  }

  /** Takes points that belong together. */
  void add(List<Metric> metrics);

  /** The run is over; nothing comes any more. Returns within a few seconds. */
  void end(End how);
}
