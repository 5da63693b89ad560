package io.vertigrad.internal.transport;

import io.vertigrad.job.ExchangeConfig;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.shareddata.Shareable;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The streams of a process: its listeners, its connections to other processes, and how ports are
 * opened.
 *
 * <p>Every listener's port has the host and the TLS settings of the event bus, so it is exactly as
 * reachable as the bus. The system chooses the port number. Any thread may use it.
 */
public final class Streams implements Shareable {

  private static final String KEY = "vertigrad.streams";
  private static final long SWEEP_MILLIS = 500;
  private static final int CONNECT_MILLIS = 5_000;

  /** Covers the most workers of a job, one process each, and as many that have just left. */
  private static final int MOST_CONNECTIONS = 8_192;

  private final Vertx vertx;
  private final EventBusOptions bus;
  private final int maxConnections;
  private final Optional<SharedMemory> sharing;
  private final ConnectionPool ways;
  private final Set<String> listeners = ConcurrentHashMap.newKeySet();

  private Streams(Vertx vertx, EventBusOptions bus, ExchangeConfig config, int maxConnections) {
    NetClientOptions connecting =
        new NetClientOptions(bus.toJson())
            .setConnectTimeout(CONNECT_MILLIS)
            .setHostnameVerificationAlgorithm("");
    this.vertx = vertx;
    this.bus = bus;
    this.maxConnections = maxConnections;
    this.sharing =
        config.transport().shares()
            ? Optional.of(
                new SharedMemory(
                    vertx,
                    Path.of(config.sharedFolder()),
                    SegmentLayout.forWindow(config.windowBytes()),
                    config.sharedBytes()))
            : Optional.empty();
    this.ways = new ConnectionPool(vertx, vertx.createNetClient(connecting), sharing);
  }

  /**
   * Sends frames of this Vert.x over streams. Call it before verticles are deployed; without it,
   * frames travel as messages of the event bus.
   *
   * @param bus the options of this Vert.x's event bus
   * @param config which memory is shared
   */
  public static void open(Vertx vertx, EventBusOptions bus, ExchangeConfig config) {
    open(vertx, bus, config, MOST_CONNECTIONS);
  }

  /** Does the same with another limit of the streams that each listener serves at once. */
  static void open(Vertx vertx, EventBusOptions bus, ExchangeConfig config, int maxConnections) {
    Streams streams = new Streams(vertx, bus, config, maxConnections);
    streams.sharing.ifPresent(SharedMemory::removeLeftovers);
    vertx.sharedData().<String, Streams>getLocalMap(KEY).put(KEY, streams);
    vertx.setPeriodic(SWEEP_MILLIS, tick -> streams.ways.sweep(System.nanoTime()));
  }

  /** Sends frames of this Vert.x over streams, with the default exchange configuration. */
  public static void open(Vertx vertx, EventBusOptions bus) {
    open(vertx, bus, ExchangeConfig.usual());
  }

  /** Returns the streams that were opened on this Vert.x, if any. */
  static Optional<Streams> of(Vertx vertx) {
    return Optional.ofNullable(vertx.sharedData().<String, Streams>getLocalMap(KEY).get(KEY));
  }

  Vertx vertx() {
    return vertx;
  }

  /** Returns the memory that this process shares with others; empty if it shares none. */
  Optional<SharedMemory> sharing() {
    return sharing;
  }

  /** Returns how many streams each listener serves at once. */
  int maxConnections() {
    return maxConnections;
  }

  /** Returns the host at which other processes reach this one. */
  String host() {
    return bus.getClusterPublicHost() == null ? bus.getHost() : bus.getClusterPublicHost();
  }

  /** Returns the options of a listener; the system chooses its port. */
  NetServerOptions listening() {
    return new NetServerOptions(bus.toJson()).setPort(0);
  }

  /** Returns the connections from this process to addresses in other processes. */
  ConnectionPool ways() {
    return ways;
  }

  /** Returns true when this process accepts streams to this address. */
  boolean isHere(String address) {
    return listeners.contains(address);
  }

  void listens(String address, boolean now) {
    if (now) {
      listeners.add(address);
    } else {
      listeners.remove(address);
    }
  }
}
