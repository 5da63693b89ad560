package io.vertigrad.launcher.cluster;

import com.hazelcast.core.HazelcastInstance;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.verticles.dashboard.BusTraffic;
import io.vertigrad.verticles.job.ClusterConfig;
import io.vertigrad.verticles.transport.Streams;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxBuilder;
import io.vertx.core.VertxOptions;
import io.vertx.core.spi.cluster.ClusterManager;
import io.vertx.spi.cluster.hazelcast.HazelcastClusterManager;

/**
 * Starts a node of the cluster: loopback unless told otherwise, explicit members, no multicast.
 *
 * <p>A job whose roles all live in one JVM needs no node at all: {@link #alone()}.
 */
public final class ClusterStart {

  private final ClusterConfig config;
  private final String name;
  private final HazelcastClusterManager manager;

  /**
   * Checks the settings; nothing is opened yet.
   *
   * @param name of the cluster; nodes of another name are not let in
   * @throws InputException for a non-loopback host without mutual TLS, or unreadable TLS files
   */
  public ClusterStart(String name, ClusterConfig config) {
    BusSecurity.check(config);
    this.name = name;
    this.config = config;
    this.manager = new HazelcastClusterManager(HazelcastNode.config(name, config));
  }

  /**
   * Checks the settings alone.
   *
   * @throws InputException as the constructor
   */
  public static void check(ClusterConfig config) {
    BusSecurity.check(config);
  }

  /** Vert.x without a cluster: everything in this JVM, no port is opened. */
  public static Vertx alone() {
    return Vertx.builder().withMetrics(BusTraffic.counting()).build();
  }

  /**
   * Opens the ports and joins the members.
   *
   * @return fails with an {@link InputException} when a member to join does not answer
   */
  public Future<Vertx> start() {
    VertxOptions options = new VertxOptions();
    configure(options);
    try {
      JoinAddress.firstAnswering(config);
    } catch (InputException e) {
      return Future.failedFuture(e);
    }
    VertxBuilder builder =
        Vertx.builder()
            .with(options)
            .withClusterManager(manager)
            .withMetrics(BusTraffic.counting());
    return builder
        .buildClustered()
        .onSuccess(vertx -> Streams.open(vertx, options.getEventBusOptions()))
        .recover(error -> Future.failedFuture(refused(error)));
  }

  /** Sets the event bus's address and its TLS, for whoever builds Vert.x himself. */
  public void configure(VertxOptions options) {
    options.getEventBusOptions().setHost(config.host()).setClusterPublicHost(config.host());
    BusSecurity.apply(config, options.getEventBusOptions());
  }

  /** The cluster manager, for whoever builds Vert.x himself. */
  public ClusterManager manager() {
    return manager;
  }

  /** Where another node can join this one, {@code HOST:PORT}; only after {@link #start()}. */
  public String joinAddress() {
    HazelcastInstance node = manager.getHazelcastInstance();
    return config.host() + ":" + node.getCluster().getLocalMember().getAddress().getPort();
  }

  private InputException refused(Throwable error) {
    return new InputException(
        "cluster %s could not start at %s, port %d and up: %s; set cluster.host and cluster.port"
            .formatted(name, config.host(), config.port(), error.getMessage()),
        error);
  }
}
