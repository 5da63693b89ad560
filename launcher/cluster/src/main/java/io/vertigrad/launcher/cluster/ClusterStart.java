package io.vertigrad.launcher.cluster;

import com.hazelcast.config.Config;
import com.hazelcast.core.HazelcastInstance;
import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.JoinException;
import io.vertigrad.observability.BusTraffic;
import io.vertigrad.training.ClusterStreams;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.core.spi.cluster.ClusterManager;
import io.vertx.spi.cluster.hazelcast.HazelcastClusterManager;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Starts a node of the cluster. It listens on loopback unless the settings say otherwise and joins
 * the members that they list, or those that {@code cluster.discovery} finds.
 *
 * <p>A job whose roles all run in one JVM needs no node: use {@link #alone()}.
 */
public final class ClusterStart {

  private final ClusterConfig config;
  private final String name;
  private final ConnectionGuard hazelcastPort;
  private final ConnectionGuard busPort;
  private final JobClusterManager manager;
  private ExchangeConfig exchange = ExchangeConfig.usual();
  private Consumer<Vertx> onceStarted = vertx -> {};

  /**
   * Checks the settings without opening anything. Every connection between nodes proves the secret
   * of {@code cluster.secretFile}, or this user's own secret when no file is named.
   *
   * @param name the cluster's name; nodes with another name or another secret are not admitted
   * @throws SettingsException for a host that other machines reach without mutual TLS or without a
   *     secret file, or files that cannot be read
   */
  public ClusterStart(String name, ClusterConfig config) {
    this(name, config, secretOf(config));
  }

  private ClusterStart(String name, ClusterConfig config, JobSecret secret) {
    BusSecurity.check(config);
    new InnerPackage(
            HazelcastClusterManager.class.getModule(), "io.vertx.spi.cluster.hazelcast.impl")
        .require();
    this.name = name;
    this.config = config;
    this.hazelcastPort = new ConnectionGuard(ConnectionGuard.HAZELCAST, secret);
    this.busPort = new ConnectionGuard("the port of the event bus", secret);
    // Hazelcast writes its cluster's name into logs and messages, so the name does not reveal the
    // secret. A different secret gives a different cluster name.
    String hidden = name + "-" + secret.name("the cluster");
    Config hazelcast = HazelcastNode.config(hidden, config);
    Discovery.of(config).apply(hazelcast, config, secret);
    this.manager = new JobClusterManager(hazelcast, hazelcastPort);
  }

  /**
   * Prepares a node of a job's cluster. Messages and streams of the job are authenticated too.
   *
   * @param secret the job's secret
   * @throws SettingsException as the constructor
   */
  public static ClusterStart ofJob(JobConfig job, JobSecret secret) {
    ClusterStart start =
        new ClusterStart("vertigrad-" + job.addresses().job(), job.cluster(), secret);
    start.exchange = job.exchange();
    start.onceStarted = vertx -> ClusterStreams.authenticate(vertx, job, secret);
    return start;
  }

  /**
   * Reads the secret of the file that {@code cluster.secretFile} names. Without a file it is the
   * user's secret, which processes of the same user on this machine share.
   *
   * @throws SettingsException when other machines reach the host and no file is named
   */
  public static JobSecret secretOf(ClusterConfig config) {
    if (config.secretFile().isPresent()) {
      return JobSecret.read(Path.of(config.secretFile().get()));
    }
    BusSecurity.check(config);
    if (!BusSecurity.loopback(config.host())) {
      throw new SettingsException(
          "cluster.host %s can be reached from other machines and cluster.secretFile is not set;"
                  .formatted(config.host())
              + " make a file with openssl rand -hex 32 > FILE && chmod 600 FILE, copy it to every"
              + " machine of the job and name it there");
    }
    return JobSecret.ofUser();
  }

  /**
   * Prepares a node that belongs to a job and leaves the cluster with it.
   *
   * @param coordinates true for the node of the job's coordinator
   * @throws SettingsException as the constructor
   */
  public static ClusterStart ofMember(JobConfig job, JobSecret secret, boolean coordinates) {
    ClusterStart start = ofJob(job, secret);
    start.manager.takePart(coordinates);
    return start;
  }

  /**
   * Checks the settings without preparing a node.
   *
   * @throws SettingsException as the constructor
   */
  public static void check(ClusterConfig config) {
    Discovery.of(config);
    config.members().forEach(JoinAddress::parse);
    BusSecurity.check(config);
  }

  /**
   * Returns the subject of this node's certificate and the date until which it is valid.
   *
   * @throws SettingsException naming the file that is wrong, and how
   */
  public static String certificate(ClusterConfig config) {
    return NodeCertificate.of(config).describe();
  }

  /** Returns a Vert.x without a cluster: everything runs in this JVM and no port is opened. */
  public static Vertx alone() {
    return Vertx.builder().withMetrics(BusTraffic.counting()).build();
  }

  /**
   * Opens the ports and joins the members.
   *
   * <p>A node that has to join never starts its own cluster, where no other node would find it.
   *
   * @return fails with an {@link SettingsException} when no member to join answers or no port is
   *     free, with a {@link JoinException} when one answers and does not admit this node
   */
  public Future<Vertx> start() {
    VertxOptions options = new VertxOptions();
    try {
      JoinAddress.firstAnswering(config)
          .ifPresent(member -> HazelcastNode.require(manager.getConfig(), member));
    } catch (SettingsException e) {
      return Future.failedFuture(e);
    }
    return builder(Vertx.builder(), options)
        .withMetrics(BusTraffic.counting())
        .buildClustered()
        .recover(error -> Future.failedFuture(explain(error)))
        .compose(this::withOthers)
        .onSuccess(vertx -> opened(vertx, options));
  }

  /**
   * Prepares a builder of Vert.x for an application or the stock launcher. It sets the event bus's
   * address and TLS, the cluster manager, and the proof of every connection. Call {@link #opened}
   * once Vert.x has started.
   *
   * @return the same builder
   */
  public VertxBuilder builder(VertxBuilder builder, VertxOptions options) {
    configure(options);
    return builder
        .with(options)
        .withTransport(
            new ProvedTransport(busPort, manager::isNode, options.getPreferNativeTransport()))
        .withClusterManager(manager);
  }

  /** Opens the streams of a Vert.x that was built with {@link #builder}. */
  public void opened(Vertx vertx, VertxOptions options) {
    onceStarted.accept(vertx);
    ClusterStreams.open(vertx, options.getEventBusOptions(), exchange);
  }

  private void configure(VertxOptions options) {
    options.getEventBusOptions().setHost(config.host()).setClusterPublicHost(config.host());
    BusSecurity.apply(config, options.getEventBusOptions());
  }

  /** Returns the cluster manager of this node. */
  ClusterManager manager() {
    return manager;
  }

  /**
   * Returns the address at which another node can join this one, {@code HOST:PORT}. Call it only
   * after {@link #start()}.
   */
  public String joinAddress() {
    HazelcastInstance node = manager.getHazelcastInstance();
    return config.host() + ":" + node.getCluster().getLocalMember().getAddress().getPort();
  }

  /**
   * Marks the job as over. Vert.x then closes without handing the cluster's data to the other
   * nodes, unless one of them does not belong to the job. Call it only after {@link #start()}.
   */
  public void jobOver() {
    manager.jobOver();
  }

  /** Returns the number of other nodes in the cluster. Call it only after {@link #start()}. */
  public int otherNodes() {
    return manager.getNodes().size() - 1;
  }

  /**
   * Reports the addresses of all nodes of the cluster, {@code HOST:PORT}, now and whenever a node
   * joins or leaves. Call it only after {@link #start()}.
   *
   * @param listener called on any thread
   */
  public void onNodesChanged(Consumer<List<String>> listener) {
    manager.onNodesChanged(listener);
  }

  /** Completes when the node of the job's coordinator has left the cluster. */
  public Future<Void> coordinatorGone() {
    return manager.coordinatorGone();
  }

  /**
   * Returns a line for the user when the port is not the configured one. Call it only after {@link
   * #start()}.
   */
  public Optional<String> otherPort() {
    int port = JoinAddress.parse(joinAddress()).port();
    return port == config.port()
        ? Optional.empty()
        : Optional.of(
            "port %s (cluster.port) is taken: this cluster is joined at %s, not at that port"
                .formatted(config.port(), joinAddress()));
  }

  /**
   * Fails when this node is alone. Members may admit a node and drop it again while it still joins.
   */
  private Future<Vertx> withOthers(Vertx vertx) {
    if (config.members().isEmpty() || manager.getNodes().size() > 1) {
      return Future.succeededFuture(vertx);
    }
    JoinException alone = notLetIn("was dropped while it joined");
    return vertx.close().transform(closed -> Future.failedFuture(alone));
  }

  private JoinException notLetIn(String what) {
    return new JoinException(
        "this node %s (cluster %s at %s): a member there does not answer, its machine is too busy,"
                .formatted(what, name, String.join(", ", config.members()))
            + " or another program has taken the port; free the port, or start this node again");
  }

  /**
   * Explains why a cluster could not be started or joined, for an application or the stock
   * launcher; {@link #start} does it by itself.
   *
   * @param error the failure of Vert.x
   * @return the failure to show to the user
   */
  public RuntimeException explain(Throwable error) {
    Optional<String> secret = hazelcastPort.refusal().or(busPort::refusal);
    if (secret.isPresent()) {
      return JoinException.refused(
          "this node is not let into cluster %s: %s".formatted(name, secret.get()));
    }
    if (error instanceof IllegalStateException && !config.members().isEmpty()) {
      return notLetIn("was not admitted within %s s".formatted(HazelcastNode.JOIN_SECONDS));
    }
    if (error instanceof SettingsException settings) {
      return settings;
    }
    String advice =
        Discovery.of(config).kind() == Discovery.Kind.KUBERNETES
            ? "cluster.discovery kubernetes needs a service account, which only a pod has; elsewhere use members, seeds or dns"
            : "set cluster.host and cluster.port";
    return new SettingsException(
        "cluster %s could not start at %s, port %s and up: %s; %s"
            .formatted(name, config.host(), config.port(), reasons(error), advice),
        error);
  }

  /** Returns the message of a failure and those of its causes: libraries wrap what a user needs. */
  private static String reasons(Throwable error) {
    List<String> reasons = new ArrayList<>();
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      String reason = FailureReason.of(cause);
      if (reasons.stream().noneMatch(known -> known.contains(reason))) {
        reasons.add(reason);
      }
    }
    return String.join(": ", reasons);
  }
}
