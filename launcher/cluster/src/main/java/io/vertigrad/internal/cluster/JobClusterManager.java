package io.vertigrad.internal.cluster;

import com.hazelcast.cluster.Member;
import com.hazelcast.cluster.MembershipEvent;
import com.hazelcast.cluster.MembershipListener;
import com.hazelcast.config.Config;
import com.hazelcast.core.ExecutionCallback;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.core.LifecycleEvent;
import com.hazelcast.core.LifecycleListener;
import com.hazelcast.core.LifecycleService;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.json.JsonObject;
import io.vertx.core.shareddata.AsyncMap;
import io.vertx.core.shareddata.Counter;
import io.vertx.core.shareddata.Lock;
import io.vertx.core.spi.cluster.ClusterManager;
import io.vertx.core.spi.cluster.NodeInfo;
import io.vertx.core.spi.cluster.NodeListener;
import io.vertx.core.spi.cluster.RegistrationInfo;
import io.vertx.core.spi.cluster.RegistrationListener;
import io.vertx.spi.cluster.hazelcast.HazelcastClusterManager;
import io.vertx.spi.cluster.hazelcast.impl.ConversionUtils;
import io.vertx.spi.cluster.hazelcast.impl.HazelcastObjectProviderImpl;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Manages the cluster for a node of one job.
 *
 * <p>Hazelcast lists the nodes and carries messages between them. Consumers of the event bus are
 * kept by {@link BusRegistrations} in the memory of every node. Vert.x's own cluster manager keeps
 * them in a Hazelcast map. An operation on such a map waits for the node that owns the entry. When
 * that node is cut off, the operation waits until Hazelcast drops it. Meanwhile nobody can send to
 * an address that was not used before. Here Hazelcast's maps hold only what an application shares.
 *
 * <p>The node leaves the cluster together with the job. A node that leaves a Hazelcast cluster
 * first hands its share of the cluster's data to the others. When all nodes leave at once, each of
 * them waits for migrations to nodes that are leaving too. It waits for up to {@code
 * hazelcast.graceful.shutdown.max.wait} and warns of every connection that breaks. Nobody reads
 * that data after the job, so the nodes leave without handing it over. The exception is a cluster
 * with a node that does not belong to the job.
 */
@SuppressWarnings("exports") // Hazelcast calls it with types of its own.
public final class JobClusterManager
    implements ClusterManager, MembershipListener, LifecycleListener {

  /** Time for which a node asks to be admitted. */
  public static final int JOIN_SECONDS = HazelcastNode.JOIN_SECONDS;

  /** The attribute of a Hazelcast member that names its node's part in the job. */
  private static final String PART = "vertigrad.part";

  private static final String NODE_ID = "vertigrad.node";

  private static final String COORDINATOR = "coordinator";
  private static final String MEMBER = "member";

  private final Config config;
  private final ConnectionGuard guard;
  private final String nodeId = UUID.randomUUID().toString();
  private final Promise<Void> coordinatorGone = Promise.promise();
  private final HazelcastObjectProviderImpl sharedData = new HazelcastObjectProviderImpl();
  private Vertx vertx;
  private RegistrationListener registrationListener;
  private volatile NodeListener nodeListener;
  private volatile BusRegistrations registrations;
  private volatile HazelcastInstance hazelcast;
  private ExecutorService lockReleases;
  private volatile Consumer<List<String>> listener = nodes -> {};
  private volatile boolean active;
  private volatile boolean over;

  /**
   * Prepares a node. Nothing is opened before Vert.x starts.
   *
   * @param name the cluster's name, which Hazelcast writes into logs
   * @param secret by which nodes that are found with multicast know each other
   * @param guard guards Hazelcast's port
   * @throws io.vertigrad.compute.settings.SettingsException for a wrong {@code cluster.discovery}
   */
  public static JobClusterManager of(
      String name, ClusterConfig cluster, JobSecret secret, ConnectionGuard guard) {
    new InnerPackage(
            HazelcastClusterManager.class.getModule(), "io.vertx.spi.cluster.hazelcast.impl")
        .require();
    Config config = HazelcastNode.config(name, cluster);
    Discovery.of(cluster).apply(config, cluster, secret);
    return new JobClusterManager(config, guard);
  }

  private JobClusterManager(Config config, ConnectionGuard guard) {
    this.config = config;
    this.guard = guard;
    config.getMemberAttributeConfig().setAttribute(NODE_ID, nodeId);
    RegistrationMessage.accept(config, this::receive);
  }

  Config getConfig() {
    return config;
  }

  /**
   * Makes this node join the first of the members in its settings that answers, or fail. Call it
   * before the node starts.
   *
   * @throws io.vertigrad.compute.settings.SettingsException when none answers
   */
  public void requireMember(ClusterConfig cluster) {
    JoinAddress.firstAnswering(cluster).ifPresent(member -> HazelcastNode.require(config, member));
  }

  /** Returns the port at which other nodes join. Call it only after the node has started. */
  public int port() {
    return hazelcast.getCluster().getLocalMember().getAddress().getPort();
  }

  HazelcastInstance getHazelcastInstance() {
    return hazelcast;
  }

  /** Marks this node as part of the job for the other nodes. Call it before the node starts. */
  public void takePart(boolean coordinates) {
    config.getMemberAttributeConfig().setAttribute(PART, coordinates ? COORDINATOR : MEMBER);
  }

  /**
   * Lets this node leave without handing over its data, if every node of the cluster belongs to the
   * job. The node then ignores other nodes that leave.
   */
  public void jobOver() {
    over =
        hazelcast.getLifecycleService().isRunning()
            && hazelcast.getCluster().getMembers().stream()
                .allMatch(member -> member.getAttribute(PART) != null);
  }

  /**
   * Sets the listener for the addresses of all nodes and calls it now and whenever a node joins or
   * leaves; on any thread.
   */
  public void onNodesChanged(Consumer<List<String>> some) {
    listener = some;
    reportNodes();
  }

  private void reportNodes() {
    listener.accept(
        hazelcast.getCluster().getMembers().stream()
            .map(Member::getAddress)
            .map(address -> address.getHost() + ":" + address.getPort())
            .toList());
  }

  /** Completes when the coordinator's node has left the cluster. */
  public Future<Void> coordinatorGone() {
    return coordinatorGone.future();
  }

  @Override
  public void init(Vertx owner) {
    vertx = owner;
  }

  @Override
  public void registrationListener(RegistrationListener some) {
    registrationListener = some;
  }

  @Override
  public void nodeListener(NodeListener some) {
    nodeListener = some;
  }

  @Override
  public void join(Completable<Void> joined) {
    registrations =
        new BusRegistrations(
            nodeId,
            registrationListener,
            this::nodeIds,
            this::request,
            BusRegistrations.STARTED_MILLIS);
    vertx
        .<Void>executeBlocking(
            () -> {
              lockReleases = Executors.newCachedThreadPool();
              HazelcastInstance started = ProvedHazelcast.start(config, guard);
              active = true;
              hazelcast = started;
              started.getCluster().addMembershipListener(this);
              started.getLifecycleService().addLifecycleListener(this);
              sharedData.onJoin(
                  (VertxInternal) vertx, new ConversionUtils(), started, lockReleases);
              return null;
            })
        .compose(started -> registrations.updateNodes())
        .onComplete(joined);
  }

  /**
   * Receives another node's message. Other nodes may send one, and must not wait for the answer,
   * before Hazelcast reports that this node has started.
   */
  private JsonObject receive(HazelcastInstance starting, JsonObject message) {
    if (hazelcast == null) {
      hazelcast = starting;
    }
    return registrations.receive(message);
  }

  /** Sends a message over Hazelcast's connection to that node, without blocking this thread. */
  private Future<JsonObject> request(String node, JsonObject message) {
    Promise<JsonObject> answer = Promise.promise();
    try {
      Member member =
          hazelcast.getCluster().getMembers().stream()
              .filter(some -> node.equals(some.getAttribute(NODE_ID)))
              .findFirst()
              .orElseThrow(() -> new IllegalStateException(node + " has left the cluster"));
      hazelcast
          .getExecutorService(RegistrationMessage.EXECUTOR)
          .submitToMember(
              new RegistrationMessage(message),
              member,
              new ExecutionCallback<String>() {
                @Override
                public void onResponse(String json) {
                  answer.complete(new JsonObject(json));
                }

                @Override
                public void onFailure(Throwable failure) {
                  answer.fail(failure);
                }
              });
    } catch (RuntimeException leftOrClosing) {
      answer.tryFail(leftOrClosing);
    }
    return answer.future();
  }

  @Override
  public void memberAdded(MembershipEvent event) {
    nodesChanged();
    NodeListener registered = nodeListener;
    if (active && registered != null) {
      registered.nodeAdded(event.getMember().getAttribute(NODE_ID));
    }
  }

  @Override
  public void memberRemoved(MembershipEvent event) {
    Member gone = event.getMember();
    if (COORDINATOR.equals(gone.getAttribute(PART))) {
      coordinatorGone.tryComplete();
    }
    nodesChanged();
    NodeListener registered = nodeListener;
    if (active && !over && registered != null) {
      registered.nodeLeft(gone.getAttribute(NODE_ID));
    }
  }

  /** When two parts of a cluster merge, Hazelcast does not report every change as an event. */
  @Override
  public void stateChanged(LifecycleEvent event) {
    if (event.getState() == LifecycleEvent.LifecycleState.MERGED) {
      nodesChanged();
    }
  }

  private void nodesChanged() {
    if (active && !over) {
      registrations.updateNodes();
      reportNodes();
    }
  }

  @Override
  public String getNodeId() {
    return nodeId;
  }

  @Override
  public List<String> getNodes() {
    return List.copyOf(nodeIds());
  }

  /** Returns the ids of all nodes; empty before this node has joined. */
  private Set<String> nodeIds() {
    HazelcastInstance node = hazelcast;
    return node == null
        ? Set.of()
        : node.getCluster().getMembers().stream()
            .map(member -> member.getAttribute(NODE_ID))
            .filter(Objects::nonNull)
            .collect(Collectors.toSet());
  }

  /** Returns true for the event bus address of another node of this cluster. */
  public boolean isNode(SocketAddress address) {
    return registrations.others().stream()
        .anyMatch(info -> new InetSocketAddress(info.host(), info.port()).equals(address));
  }

  @Override
  public void setNodeInfo(NodeInfo info, Completable<Void> published) {
    registrations.setInfo(info, published);
  }

  @Override
  public NodeInfo getNodeInfo() {
    return registrations.info();
  }

  @Override
  public void getNodeInfo(String node, Completable<NodeInfo> found) {
    registrations.info(node).onComplete(found);
  }

  @Override
  public void addRegistration(
      String address, RegistrationInfo registration, Completable<Void> added) {
    registrations.add(address, registration, added);
  }

  @Override
  public void removeRegistration(
      String address, RegistrationInfo registration, Completable<Void> removed) {
    if (!over) {
      registrations.remove(address, registration);
    }
    removed.succeed();
  }

  @Override
  public void getRegistrations(String address, Completable<List<RegistrationInfo>> found) {
    found.succeed(registrations.get(address));
  }

  @Override
  public <K, V> void getAsyncMap(String name, Completable<AsyncMap<K, V>> found) {
    found.succeed(sharedData.getAsyncMap(name));
  }

  @Override
  public <K, V> Map<K, V> getSyncMap(String name) {
    return sharedData.getSyncMap(name);
  }

  @Override
  public void getLockWithTimeout(String name, long timeoutMillis, Completable<Lock> locked) {
    vertx
        .executeBlocking(() -> sharedData.getLockWithTimeout(name, timeoutMillis), false)
        .onComplete(locked);
  }

  @Override
  public void getCounter(String name, Completable<Counter> found) {
    found.succeed(sharedData.createCounter(name));
  }

  @Override
  public boolean isActive() {
    return active;
  }

  @Override
  public void leave(Completable<Void> left) {
    vertx
        .<Void>executeBlocking(
            () -> {
              if (active) {
                active = false;
                registrations.close();
                lockReleases.shutdown();
                LifecycleService life = hazelcast.getLifecycleService();
                if (over) {
                  life.terminate();
                } else {
                  life.shutdown();
                }
              }
              return null;
            },
            false)
        .onComplete(left);
  }
}
