package io.vertigrad.launcher.cluster;

import com.hazelcast.cluster.Member;
import com.hazelcast.cluster.MembershipEvent;
import com.hazelcast.config.Config;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.core.LifecycleService;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.spi.cluster.NodeInfo;
import io.vertx.core.spi.cluster.RegistrationInfo;
import io.vertx.spi.cluster.hazelcast.HazelcastClusterManager;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
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

  /** The attribute by which Vert.x knows the node of a member. */
  private static final String NODE_ID = "__vertx.nodeId";

  private final Config config;
  private final ConnectionGuard guard;
  private final AtomicReference<HazelcastInstance> node;
  private final Map<String, SocketAddress> nodes = new ConcurrentHashMap<>();
  private final Promise<Void> coordinatorGone = Promise.promise();
  private Vertx vertx;
  private volatile Consumer<List<String>> listener = nodes -> {};
  private volatile boolean over;

  /**
   * Takes the settings of a node that is about to start.
   *
   * @param guard of Hazelcast's port
   */
  JobClusterManager(Config config, ConnectionGuard guard) {
    this(config, guard, new AtomicReference<>());
  }

  private JobClusterManager(
      Config config, ConnectionGuard guard, AtomicReference<HazelcastInstance> node) {
    super(startedLater(node));
    this.config = config;
    this.guard = guard;
    this.node = node;
    config.getMemberAttributeConfig().setAttribute(NODE_ID, UUID.randomUUID().toString());
  }

  /** Vert.x takes the instance now, and calls it only once this node has joined. */
  private static HazelcastInstance startedLater(AtomicReference<HazelcastInstance> node) {
    return (HazelcastInstance)
        Proxy.newProxyInstance(
            JobClusterManager.class.getClassLoader(),
            new Class<?>[] {HazelcastInstance.class},
            (proxy, method, arguments) -> {
              try {
                return method.invoke(node.get(), arguments);
              } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
              }
            });
  }

  /** Tells the other nodes that this one belongs to the job; before it starts. */
  void takePart(boolean coordinates) {
    config.getMemberAttributeConfig().setAttribute(PART, coordinates ? COORDINATOR : MEMBER);
  }

  @Override
  public Config getConfig() {
    return config;
  }

  @Override
  public HazelcastInstance getHazelcastInstance() {
    return node.get();
  }

  @Override
  public void join(Completable<Void> joined) {
    vertx
        .executeBlocking(
            () -> {
              node.set(ProvedHazelcast.start(config, guard));
              return null;
            })
        .onComplete(
            (started, failure) -> {
              if (failure == null) {
                super.join(joined);
              } else {
                joined.fail(failure);
              }
            });
  }

  /** Vert.x asks for a node's address before it connects to it. */
  @Override
  public void getNodeInfo(String nodeId, Completable<NodeInfo> asked) {
    super.getNodeInfo(
        nodeId,
        (info, failure) -> {
          if (failure == null) {
            nodes.put(nodeId, new InetSocketAddress(info.host(), info.port()));
          }
          asked.complete(info, failure);
        });
  }

  /** Returns true for the address of the event bus of another node of this cluster. */
  boolean isNode(SocketAddress address) {
    return nodes.containsValue(address);
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
    nodes.remove(String.valueOf(gone.getAttribute(NODE_ID)));
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
      end(LifecycleService::terminate, left);
    } else {
      super.leave((nothing, failure) -> end(LifecycleService::shutdown, left));
    }
  }

  private void end(Consumer<LifecycleService> way, Completable<Void> left) {
    vertx
        .<Void>executeBlocking(
            () -> {
              if (node.get() != null) {
                way.accept(node.get().getLifecycleService());
              }
              return null;
            },
            false)
        .onComplete(left);
  }
}
