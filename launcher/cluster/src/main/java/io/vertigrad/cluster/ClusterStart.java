package io.vertigrad.cluster;

import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.internal.cluster.BusSecurity;
import io.vertigrad.internal.cluster.ConnectionGuard;
import io.vertigrad.internal.cluster.Discovery;
import io.vertigrad.internal.cluster.JobClusterManager;
import io.vertigrad.internal.cluster.JoinAddress;
import io.vertigrad.internal.cluster.JoinPoint;
import io.vertigrad.internal.cluster.NodeCertificate;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.JoinException;
import io.vertigrad.training.ClusterStreams;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.spi.cluster.ClusterManager;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Starts a node of a job's cluster. It listens on loopback unless the settings say otherwise and
 * joins the members that they list, or those that {@code cluster.discovery} finds.
 *
 * <p>One object starts one Vert.x, by {@link #start()}, by {@link #start(VertxBuilder,
 * VertxOptions)} for an application with settings of its own, or by {@link #builder} and {@link
 * #opened} where a launcher builds it. The cluster manager is always Hazelcast with the settings of
 * this class. A job whose roles all run in one JVM needs no node. Any thread may use it; nothing
 * blocks but the reading of files.
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
   * Prepares a node of a cluster that belongs to no job. Opens nothing. Every connection between
   * nodes proves the secret of {@code cluster.secretFile}, or this user's own secret if no file is
   * named.
   *
   * @param name the cluster's name; nodes with another name or another secret are not admitted
   * @param config where the node listens, and which members it joins
   * @throws SettingsException for a host that other machines reach without mutual TLS or without a
   *     secret file, or files that cannot be read
   */
  public ClusterStart(String name, ClusterConfig config) {
    this(name, config, secretOf(config));
  }

  private ClusterStart(String name, ClusterConfig config, JobSecret secret) {
    BusSecurity.check(config);
    this.name = name;
    this.config = config;
    this.hazelcastPort = new ConnectionGuard(ConnectionGuard.HAZELCAST, secret);
    this.busPort = new ConnectionGuard("the port of the event bus", secret);
    // Hazelcast writes its cluster's name into logs and messages, so the name does not reveal the
    // secret. A different secret gives a different cluster name.
    String hidden = name + "-" + secret.name("the cluster");
    this.manager = JobClusterManager.of(hidden, config, secret, hazelcastPort);
  }

  /**
   * Prepares a node of a job's cluster. Messages and streams of the job are authenticated too.
   *
   * @param job the job; its section {@code cluster} says where the node listens
   * @param secret the job's secret
   * @return the node, which {@link #start()} starts
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
   * Prepares a node that belongs to a job and leaves the cluster with it.
   *
   * @param job the job
   * @param secret the job's secret
   * @param coordinates true for the node of the job's coordinator
   * @return the node, which {@link #start()} starts
   * @throws SettingsException as the constructor
   */
  public static ClusterStart ofMember(JobConfig job, JobSecret secret, boolean coordinates) {
    ClusterStart start = ofJob(job, secret);
    start.manager.takePart(coordinates);
    return start;
  }

  /**
   * Reads the secret of the file that {@code cluster.secretFile} names. Without a file it is the
   * user's secret, which processes of the same user on this machine share.
   *
   * @param config the settings of a node
   * @return the secret
   * @throws SettingsException when other machines reach the host and no file is named
   */
  public static JobSecret secretOf(ClusterConfig config) {
    if (config.secretFile().isPresent()) {
      return JobSecret.read(Path.of(config.secretFile().get()));
    }
    BusSecurity.check(config);
    if (!JoinPoint.isLoopback(config.host())) {
      throw new SettingsException(
          "cluster.host %s can be reached from other machines and cluster.secretFile is not set;"
                  .formatted(config.host())
              + " make a file with openssl rand -hex 32 > FILE && chmod 600 FILE, copy it to every"
              + " machine of the job and name it there");
    }
    return JobSecret.ofUser();
  }

  /**
   * Checks the settings without preparing a node.
   *
   * @param config the settings of a node
   * @throws SettingsException as the constructor, or for addresses that are malformed
   */
  public static void check(ClusterConfig config) {
    Discovery.of(config);
    config.members().forEach(JoinAddress::parse);
    BusSecurity.check(config);
  }

  /**
   * Describes a node's certificate.
   *
   * @param config settings that name a certificate, its key and the authority
   * @return its subject and the date until which it is valid
   * @throws SettingsException naming the file that is wrong, and how
   */
  public static String certificate(ClusterConfig config) {
    return NodeCertificate.of(config).describe();
  }

  /**
   * Opens the ports and joins the members.
   *
   * <p>A node that has to join never starts its own cluster, where no other node would find it.
   *
   * @return the started Vert.x; fails with a {@link SettingsException} when no member to join
   *     answers or no port is free, with a {@link JoinException} when one answers and does not
   *     admit this node
   */
  public Future<Vertx> start() {
    return start(Vertx.builder(), new VertxOptions());
  }

  /**
   * Opens the ports and joins the members with settings of an application, such as its metrics,
   * tracing and threads.
   *
   * @param builder may have metrics and tracing; its cluster manager and transport are replaced
   * @param options may have any settings; host and TLS of the event bus are replaced
   * @return as {@link #start()}
   */
  public Future<Vertx> start(VertxBuilder builder, VertxOptions options) {
    try {
      manager.requireMember(config);
    } catch (SettingsException e) {
      return Future.failedFuture(e);
    }
    return builder(builder, options)
        .buildClustered()
        .recover(error -> Future.failedFuture(explain(error)))
        .compose(this::withOthers)
        .onSuccess(vertx -> opened(vertx, options));
  }

  /**
   * Prepares a builder of Vert.x for a launcher that builds it. It sets the event bus's address and
   * TLS, the cluster manager, and the proof of every connection. Call {@link #opened} once Vert.x
   * has started, and {@link #explain} if it has not.
   *
   * @param builder its cluster manager and transport are replaced
   * @param options host and TLS of the event bus are replaced
   * @return the same builder
   */
  public VertxBuilder builder(VertxBuilder builder, VertxOptions options) {
    options.getEventBusOptions().setHost(config.host()).setClusterPublicHost(config.host());
    BusSecurity.apply(config, options.getEventBusOptions());
    return builder
        .with(options)
        .withTransport(busPort.transport(manager::isNode, options.getPreferNativeTransport()))
        .withClusterManager(manager);
  }

  /**
   * Opens the streams of a Vert.x that was built with {@link #builder}, before a verticle of the
   * job is deployed.
   *
   * @param vertx the started Vert.x
   * @param options the options that it was built with
   * @throws IllegalArgumentException for a Vert.x without a cluster, or with another cluster
   *     manager, whose ports ask nobody for the secret
   */
  public void opened(Vertx vertx, VertxOptions options) {
    ClusterManager found = ((VertxInternal) vertx).clusterManager();
    if (found != manager) {
      throw new IllegalArgumentException(
          ("cluster %s: this Vert.x has %s, expected the cluster manager of ClusterStart: build it"
                  + " with ClusterStart.builder, or use the one that ClusterStart.start returns")
              .formatted(
                  name,
                  found == null
                      ? "no cluster manager"
                      : "the cluster manager " + found.getClass().getName()));
    }
    onceStarted.accept(vertx);
    ClusterStreams.open(vertx, options.getEventBusOptions(), exchange);
  }

  /** Returns the cluster manager of this node. */
  JobClusterManager manager() {
    return manager;
  }

  /**
   * Returns the address at which another node can join this one. Call it only after the start.
   *
   * @return {@code HOST:PORT}
   */
  public String joinAddress() {
    return config.host() + ":" + manager.port();
  }

  /**
   * Marks the job as over. Vert.x then closes without handing the cluster's data to the other
   * nodes, unless one of them does not belong to the job. Call it only after the start.
   */
  public void jobOver() {
    manager.jobOver();
  }

  /**
   * Counts the other nodes in the cluster. Call it only after the start.
   *
   * @return 0 for a node that is alone
   */
  public int otherNodes() {
    return manager.getNodes().size() - 1;
  }

  /**
   * Reports the addresses of all nodes of the cluster, {@code HOST:PORT}, now and whenever a node
   * joins or leaves. Call it only after the start.
   *
   * @param listener called on any thread
   */
  public void onNodesChanged(Consumer<List<String>> listener) {
    manager.onNodesChanged(listener);
  }

  /**
   * Waits for the end of the node of the job's coordinator.
   *
   * @return completes when it has left the cluster; never fails
   */
  public Future<Void> coordinatorGone() {
    return manager.coordinatorGone();
  }

  /**
   * Compares the node's port with the configured one. Call it only after the start.
   *
   * @return a line for the user when the port is another one; else empty
   */
  public Optional<String> otherPort() {
    return manager.port() == config.port()
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
   * Explains why a cluster could not be started or joined, for a launcher that builds Vert.x;
   * {@link #start()} does it by itself.
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
      return notLetIn("was not admitted within %s s".formatted(JobClusterManager.JOIN_SECONDS));
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
