package io.vertigrad.internal.membership;

import io.vertigrad.job.JobConfig;
import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;

/** How the process that a member lives in is called, for people and for whoever started it. */
public final class NodeName {

  private NodeName() {}

  /** What this process is called in its cluster; empty outside of one. */
  public static String inCluster(Vertx vertx) {
    return vertx.isClustered() ? ((VertxInternal) vertx).clusterManager().getNodeId() : "";
  }

  /** A process of this machine. */
  public static String of(JobConfig job, long pid) {
    return "%s pid %d".formatted(job.cluster().host(), pid);
  }
}
