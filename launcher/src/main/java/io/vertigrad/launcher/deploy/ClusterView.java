package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.training.JobFailedException;
import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Checks whether a node is still in the same cluster as the coordinator; belongs to one event loop.
 *
 * <p>The others drop a process that is suspended for longer than Hazelcast waits, and it continues
 * in its own cluster. Its connections are still open, so it can send, but it and the nodes that
 * joined since do not find each other. Hazelcast merges the two clusters again. When that takes too
 * long, the process leaves and joins anew, unless it alone holds state that the job would lose.
 * Sometimes the coordinator neither answers nor is found, and this process was never suspended.
 * Then the coordinator is the suspended one, and a process that waits for it stays.
 */
final class ClusterView {

  /** Number of checks, one a second, within which the two clusters should have merged. */
  static final int LOOKS = 30;

  private final Supplier<List<String>> nodes;
  private final boolean stays;
  private String coordinator;
  private boolean answers;
  private boolean slept;
  private int missed;

  /**
   * Creates a view before its first check.
   *
   * @param nodes returns the names of the cluster's nodes; throws when the cluster was shut down
   * @param stays true for a member that continues without the coordinator's node
   */
  ClusterView(Supplier<List<String>> nodes, boolean stays) {
    this.nodes = nodes;
    this.stays = stays;
  }

  /**
   * Returns the view of this Vert.x's cluster; without a cluster it never finds a fault. A server
   * and a stage stay: their parameters are newer than any checkpoint.
   */
  static ClusterView of(Vertx vertx, JobConfig job, Role role) {
    boolean stays = role == Role.SERVER || (role == Role.WORKER && job.pipeline().isPresent());
    return new ClusterView(
        vertx.isClustered() ? () -> ((VertxInternal) vertx).clusterManager().getNodes() : List::of,
        stays);
  }

  /**
   * Records the name of the coordinator's node, which has just answered; null when it gave no name.
   */
  void expect(String node) {
    coordinator = node;
    answers = true;
  }

  /** Records that this process did not run for a while, so that the others may have dropped it. */
  void slept() {
    slept = true;
  }

  /** Checks once; returns the fault when it has lasted for too long. */
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
    boolean here = coordinator == null || found.contains(coordinator);
    slept = slept && !here;
    // A coordinator that is not in the cluster and does not answer may be the suspended one.
    boolean fine = stays || here || !(answers || slept);
    answers = false;
    missed = fine ? 0 : missed + 1;
    return missed < LOOKS ? Optional.empty() : Optional.of(split(found.size()));
  }

  private static CoordinatorLostException split(int nodes) {
    return new CoordinatorLostException(
        "this process is in a cluster of %s without the coordinator: it slept, or was cut off, until"
                .formatted(nodes)
            + " the others let it go",
        false);
  }
}
