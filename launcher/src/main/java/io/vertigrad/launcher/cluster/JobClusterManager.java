package io.vertigrad.launcher.cluster;

import com.hazelcast.cluster.Member;
import com.hazelcast.cluster.MembershipEvent;
import com.hazelcast.config.Config;
import com.hazelcast.core.HazelcastInstance;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.spi.cluster.RegistrationInfo;
import io.vertx.spi.cluster.hazelcast.HazelcastClusterManager;
import java.util.List;
import java.util.function.Consumer;

/**
 * The cluster manager of a node of one job, which ends the cluster together with the job.
 *
 * <p>A node that leaves a Hazelcast cluster first hands its share of the cluster's data to the
 * others. When all nodes leave at once, each of them waits for migrations to nodes that are going
 * too, for up to {@code hazelcast.graceful.shutdown.max.wait}, and warns of every connection that
 * breaks. After the job nobody reads that data any more, so that the nodes go without handing it
 * over, unless the cluster has a node that takes no part in the job.
 */
final class JobClusterManager extends HazelcastClusterManager {

  /** The attribute of a Hazelcast member that says what its node is in the job. */
  private static final String PART = "vertigrad.part";

  private static final String COORDINATOR = "coordinator";
  private static final String MEMBER = "member";

  private final Promise<Void> coordinatorGone = Promise.promise();
  private Vertx vertx;
  private volatile Consumer<List<String>> listener = nodes -> {};
  private volatile boolean over;

  /** Takes the settings of a node that is about to start. */
  JobClusterManager(Config config) {
    super(config);
  }

  /** Tells the other nodes that this one belongs to the job; before it starts. */
  void takePart(boolean coordinates) {
    getConfig().getMemberAttributeConfig().setAttribute(PART, coordinates ? COORDINATOR : MEMBER);
  }

  /**
   * Lets this node leave without handing over its data, if every node of the cluster belongs to the
   * job; it then no longer follows who else leaves.
   */
  void jobOver() {
    HazelcastInstance node = getHazelcastInstance();
    over =
        node.getLifecycleService().isRunning()
            && node.getCluster().getMembers().stream()
                .allMatch(member -> member.getAttribute(PART) != null);
  }

  /** Is told where all nodes are, now and whenever one comes or goes; called on any thread. */
  void tellNodes(Consumer<List<String>> some) {
    listener = some;
    told();
  }

  private void told() {
    listener.accept(
        getHazelcastInstance().getCluster().getMembers().stream()
            .map(Member::getAddress)
            .map(address -> address.getHost() + ":" + address.getPort())
            .toList());
  }

  @Override
  public void memberAdded(MembershipEvent event) {
    super.memberAdded(event);
    told();
  }

  /** Completes when the coordinator's node has left the cluster. */
  Future<Void> coordinatorGone() {
    return coordinatorGone.future();
  }

  @Override
  public void init(Vertx owner) {
    vertx = owner;
    super.init(owner);
  }

  @Override
  public void memberRemoved(MembershipEvent event) {
    Member gone = event.getMember();
    if (COORDINATOR.equals(gone.getAttribute(PART))) {
      coordinatorGone.tryComplete();
    }
    if (!over) {
      super.memberRemoved(event);
      told();
    }
  }

  @Override
  public void removeRegistration(
      String address, RegistrationInfo registration, Completable<Void> removed) {
    if (over) {
      removed.succeed();
    } else {
      super.removeRegistration(address, registration, removed);
    }
  }

  @Override
  public void leave(Completable<Void> left) {
    if (over) {
      vertx
          .<Void>executeBlocking(
              () -> {
                getHazelcastInstance().getLifecycleService().terminate();
                return null;
              },
              false)
          .onComplete(left);
    } else {
      super.leave(left);
    }
  }
}
