package io.vertigrad.internal.membership;

import io.vertigrad.job.JobConfig;
import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;

/** Names of the process that a member runs in, for messages and for the program that started it. */
public final class NodeName {

  private NodeName() {}

  /** Returns the cluster's name for this process; empty outside of a cluster. */
  public static String inCluster(Vertx vertx) {
    return vertx.isClustered() ? ((VertxInternal) vertx).clusterManager().getNodeId() : "";
  }

  /** Returns the name of a process of this machine. */
  public static String of(JobConfig job, long pid) {
    return "%s pid %d".formatted(job.cluster().host(), pid);
  }
}
