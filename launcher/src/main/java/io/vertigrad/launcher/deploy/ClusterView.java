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
 * Whether a node's cluster is still the coordinator's; belongs to one event loop.
 *
 * <p>A process that sleeps for longer than Hazelcast waits is dropped by the others and wakes up in
 * a cluster of its own. Its connections are still open, so it can send; but nobody finds it, and it
 * finds nobody who came since. Hazelcast brings the two together again; where that takes too long,
 * it leaves and joins anew, unless it alone has what the job would lose with it. Where the
 * coordinator neither answers nor is found by a process that never slept, it is the coordinator
 * that sleeps, and whoever waits for it stays.
 */
final class ClusterView {

  /** In so many looks, one a second, the two clusters should have found each other again. */
  static final int LOOKS = 30;

  private final Supplier<List<String>> nodes;
  private final boolean stays;
  private String coordinator;
  private boolean answers;
  private boolean slept;
  private int missed;

  /**
   * A view before its first look.
   *
   * @param nodes names of the cluster's nodes; throws when the cluster was shut down
   * @param stays true for whoever goes on without the coordinator's node
   */
  ClusterView(Supplier<List<String>> nodes, boolean stays) {
    this.nodes = nodes;
    this.stays = stays;
  }

  /**
   * Of the cluster that this Vert.x is in; of one without a cluster nothing is ever wrong. A server
   * and a stage stay: their parameters are newer than any checkpoint.
   */
  static ClusterView of(Vertx vertx, JobConfig job, Role role) {
    boolean stays = role == Role.SERVER || (role == Role.WORKER && job.pipeline().isPresent());
    return new ClusterView(
        vertx.isClustered() ? () -> ((VertxInternal) vertx).clusterManager().getNodes() : List::of,
        stays);
  }

  /** The coordinator's node is called so; null when it did not say. */
  void expect(String node) {
    coordinator = node;
    answers = true;
  }

  /** This process did not run for a while, so that the others may have let it go. */
  void slept() {
    slept = true;
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
    boolean here = coordinator == null || found.contains(coordinator);
    slept = slept && !here;
    // A coordinator that is not here and does not answer may be the one that sleeps.
    boolean fine = stays || here || !(answers || slept);
    answers = false;
    missed = fine ? 0 : missed + 1;
    return missed < LOOKS ? Optional.empty() : Optional.of(split(found.size()));
  }

  private static CoordinatorLostException split(int nodes) {
    return new CoordinatorLostException(
        "this process is in a cluster of %d without the coordinator: it slept, or was cut off, until"
                .formatted(nodes)
            + " the others let it go");
  }
}
