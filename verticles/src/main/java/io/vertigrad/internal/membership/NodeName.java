package io.vertigrad.internal.membership;

import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;

/** Names of the process that a member runs in, for messages and for the program that started it. */
public final class NodeName {

  private NodeName() {}

  /** Returns the cluster's name for this process; empty outside of a cluster. */
  public static String inCluster(Vertx vertx) {
    return vertx.isClustered() ? ((VertxInternal) vertx).clusterManager().getNodeId() : "";
  }
}
