package io.vertigrad.launcher.deploy;

import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Whether a node's cluster is still the coordinator's; belongs to one event loop.
 *
 * <p>A process that sleeps for longer than Hazelcast waits is dropped by the others and wakes up in
 * a cluster of its own. Its connections are still open, so it can send; but nobody finds it, and it
 * finds nobody who came since.
 */
final class ClusterView {

  /** The coordinator's node may be missing in so many looks less one: a view may lag behind. */
  static final int LOOKS = 3;

  private final Supplier<List<String>> nodes;
  private String coordinator;
  private int missed;

  /**
   * A view before its first look.
   *
   * @param nodes names of the cluster's nodes; throws when the cluster was shut down
   */
  ClusterView(Supplier<List<String>> nodes) {
    this.nodes = nodes;
  }

  /** Of the cluster that this Vert.x is in; of one without a cluster nothing is ever wrong. */
  static ClusterView of(Vertx vertx) {
    return new ClusterView(
        vertx.isClustered() ? () -> ((VertxInternal) vertx).clusterManager().getNodes() : List::of);
  }

  /** The coordinator's node is called so; null when it did not say. */
  void expect(String node) {
    coordinator = node;
  }

  /** Looks once; what is wrong, if it is wrong for good. */
  Optional<JobFailedException> fault() {
    List<String> found;
    try {
      found = nodes.get();
    } catch (RuntimeException e) {
      return Optional.of(
          new JobFailedException(
              "the cluster was shut down under this process (%s); start it again"
                  .formatted(e.getMessage()),
              e));
    }
    missed = coordinator == null || found.contains(coordinator) ? 0 : missed + 1;
    return missed < LOOKS ? Optional.empty() : Optional.of(split(found.size()));
  }

  private static CoordinatorLostException split(int nodes) {
    return new CoordinatorLostException(
        "this process is in a cluster of %d without the coordinator: it slept, or was cut off, until"
                .formatted(nodes)
            + " the others let it go");
  }
}
