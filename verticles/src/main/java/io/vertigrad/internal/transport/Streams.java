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
 * What a process needs for streams: how its ports are opened, who listens here, and the ways out.
 *
 * <p>Every listener's port has the host and the TLS settings of the event bus, so it is as open or
 * as closed as that; the system chooses its number. Any thread.
 */
public final class Streams implements Shareable {

  private static final String KEY = "vertigrad.streams";
  private static final long SWEEP_MILLIS = 500;
  private static final int CONNECT_MILLIS = 5_000;

  private final Vertx vertx;
  private final EventBusOptions bus;
  private final int maxConnections;
  private final Optional<SharedMemory> sharing;
  private final Optional<LinkLimit> limit;
  private final ConnectionPool ways;
  private final Set<String> listeners = ConcurrentHashMap.newKeySet();

  private Streams(Vertx vertx, EventBusOptions bus, ExchangeConfig config) {
    NetClientOptions connecting =
        new NetClientOptions(bus.toJson())
            .setConnectTimeout(CONNECT_MILLIS)
            .setHostnameVerificationAlgorithm("");
    this.vertx = vertx;
    this.bus = bus;
    this.maxConnections = config.maxConnections();
    this.limit = LinkLimit.of(config);
    this.sharing =
        config.transport().shares() && limit.isEmpty()
            ? Optional.of(
                new SharedMemory(
                    vertx,
                    Path.of(config.sharedFolder()),
                    SegmentLayout.forWindow(config.windowBytes()),
                    config.sharedBytes()))
            : Optional.empty();
    this.ways = new ConnectionPool(vertx, vertx.createNetClient(connecting), sharing, limit);
  }

  /**
   * Has frames of this Vert.x travel over streams; to be called before its verticles are deployed,
   * without it frames travel as messages of the bus.
   *
   * @param bus the options of this Vert.x's event bus
   * @param config how many streams each listener serves at once, and which memory is shared; how
   *     much is sent in a second
   */
  public static void open(Vertx vertx, EventBusOptions bus, ExchangeConfig config) {
    Streams streams = new Streams(vertx, bus, config);
    streams.sharing.ifPresent(SharedMemory::removeLeftovers);
    vertx.sharedData().<String, Streams>getLocalMap(KEY).put(KEY, streams);
    vertx.setPeriodic(SWEEP_MILLIS, tick -> streams.ways.sweep(System.nanoTime()));
  }

  /** Likewise, as a job file that says nothing of its exchange has it. */
  public static void open(Vertx vertx, EventBusOptions bus) {
    open(vertx, bus, ExchangeConfig.usual());
  }

  /** What was opened on this Vert.x. */
  static Optional<Streams> of(Vertx vertx) {
    return Optional.ofNullable(vertx.sharedData().<String, Streams>getLocalMap(KEY).get(KEY));
  }

  Vertx vertx() {
    return vertx;
  }

  /** Memory that this process shares with others, unless it shares none. */
  Optional<SharedMemory> sharing() {
    return sharing;
  }

  /** What limits all that this process sends over streams, if anything does. */
  Optional<LinkLimit> limit() {
    return limit;
  }

  /** Streams that each listener serves at once. */
  int maxConnections() {
    return maxConnections;
  }

  /** Where other processes reach this one. */
  String host() {
    return bus.getClusterPublicHost() == null ? bus.getHost() : bus.getClusterPublicHost();
  }

  /** A listener's port: any. */
  NetServerOptions listening() {
    return new NetServerOptions(bus.toJson()).setPort(0);
  }

  /** The ways from here to addresses of other processes. */
  ConnectionPool ways() {
    return ways;
  }

  /** True when somebody in this process takes streams to this address. */
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
