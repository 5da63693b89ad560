package io.vertigrad.cluster;

import io.vertigrad.internal.cluster.JobClusterManager;

/** Reads the cluster manager of a node, which is no API. */
public final class StartedManager {

  private StartedManager() {}

  public static JobClusterManager of(ClusterStart start) {
    return start.manager();
  }
}
