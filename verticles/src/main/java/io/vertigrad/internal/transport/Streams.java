package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.security.JobSecrets;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.TransportKind;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.net.NetSocket;
import io.vertx.core.shareddata.Shareable;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The streams of a process: its listeners, its connections to other processes, and how ports are
 * opened.
 *
 * <p>Every listener's port has the host and the TLS settings of the event bus, so it is exactly as
 * reachable as the bus. The system chooses the port number. To send, it looks an address up over
 * the event bus, connects once, and forgets the connection when it closes. Any thread may use it.
 */
public final class Streams implements Shareable {

  private static final Logger LOG = LoggerFactory.getLogger(Streams.class);
  private static final String KEY = "vertigrad.streams";
  private static final long SWEEP_MILLIS = 500;
  private static final long ASK_MILLIS = 2_000;
  private static final int CONNECT_MILLIS = 5_000;
  private static final long OPEN_MILLIS = 10_000;
  private static final long MADE_MILLIS = 30_000;

  /** Covers the most workers of a job, one process each, and as many that have just left. */
  private static final int MOST_CONNECTIONS = 8_192;

  private final Vertx vertx;
  private final EventBusOptions options;
  private final int maxConnections;
  private final Optional<SharedMemory> sharing;
  private final Set<String> listeners = ConcurrentHashMap.newKeySet();
  private final Transport bus;
  private final NetClient client;
  private final Map<String, Future<Transport>> transports = new ConcurrentHashMap<>();
  private final Set<Stream> streams = ConcurrentHashMap.newKeySet();

  private Streams(Vertx vertx, EventBusOptions options, ExchangeConfig config, int maxConnections) {
    this.vertx = vertx;
    this.options = options;
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
    this.bus = Transport.onBus(vertx.eventBus());
    this.client =
        vertx.createNetClient(
            new NetClientOptions(options.toJson())
                .setConnectTimeout(CONNECT_MILLIS)
                .setHostnameVerificationAlgorithm(""));
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
    Streams opened = new Streams(vertx, bus, config, maxConnections);
    opened.sharing.ifPresent(SharedMemory::removeLeftovers);
    vertx.sharedData().<String, Streams>getLocalMap(KEY).put(KEY, opened);
    vertx.setPeriodic(SWEEP_MILLIS, tick -> opened.sweep());
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
    return options.getClusterPublicHost() == null
        ? options.getHost()
        : options.getClusterPublicHost();
  }

  /** Returns the options of a listener; the system chooses its port. */
  NetServerOptions listening() {
    return new NetServerOptions(options.toJson()).setPort(0);
  }

  /** Records that this process accepts streams to an address, or no longer does. */
  void setListening(String address, boolean now) {
    if (now) {
      listeners.add(address);
    } else {
      listeners.remove(address);
    }
  }

  /**
   * Returns the transport of a job's frames: over TCP streams, one per address and process, with
   * payloads in shared memory when both ends are on one host. The event bus only looks addresses
   * up, and carries frames within this process.
   *
   * <p>Why not the bus for all: between processes it copies a message four times and moves about a
   * quarter of what a TCP connection does ({@code benchmarks/README.md}).
   *
   * @param kind whether payloads may, or must, go through shared memory
   */
  Transport transport(TransportKind kind) {
    return new StreamTransport(kind);
  }

  private final class StreamTransport implements Transport {

    private final TransportKind kind;
    private volatile AnswerReceiver receiver;

    StreamTransport(TransportKind kind) {
      this.kind = kind;
    }

    @Override
    public void request(
        String address, Frame frame, long limitMillis, Completable<Frame> answered) {
      if (listeners.contains(address)) {
        bus.request(address, frame, limitMillis, answered);
        return;
      }
      to(address, kind)
          .onSuccess(connected -> follow(connected).request(address, frame, limitMillis, answered))
          .onFailure(answered::fail);
    }

    @Override
    public void renew(String address) {
      Future<Transport> known = transports.get(address);
      if (known != null
          && known.isComplete()
          && transports.remove(address, known)
          && known.result() instanceof Stream stream) {
        stream.close();
      }
    }

    private Transport follow(Transport connected) {
      AnswerReceiver open = receiver;
      if (open != null && connected instanceof Stream stream) {
        open.follow(stream);
      }
      return connected;
    }

    @Override
    public Optional<AnswerReceiver> answerReceiver() {
      receiver = new AnswerReceiver();
      return Optional.of(receiver);
    }
  }

  /**
   * Returns the transport to an address in another process: a stream, or the event bus if that
   * process accepts no streams.
   *
   * @param kind whether payloads may, or must, go through shared memory; the same for all requests
   *     to an address, since they belong to one job
   * @return fails like a request over the bus when nobody listens there
   */
  Future<Transport> to(String address, TransportKind kind) {
    Future<Transport> known = transports.get(address);
    if (known != null) {
      return known;
    }
    Promise<Transport> promise = Promise.promise();
    known = transports.putIfAbsent(address, promise.future());
    if (known != null) {
      return known;
    }
    lookUp(address, kind)
        .timeout(MADE_MILLIS, TimeUnit.MILLISECONDS)
        .onFailure(nobody -> transports.remove(address, promise.future()))
        .onComplete(promise);
    return promise.future();
  }

  private Future<Transport> lookUp(String address, TransportKind kind) {
    DeliveryOptions asking =
        new DeliveryOptions().addHeader(BusListener.ADDRESS_LOOKUP, "").setSendTimeout(ASK_MILLIS);
    return vertx
        .eventBus()
        .<JsonObject>request(address, null, asking)
        .compose(answer -> connect(address, answer.body(), kind));
  }

  private Future<Transport> connect(String address, JsonObject where, TransportKind kind) {
    if (where == null) {
      return Future.succeededFuture(bus);
    }
    StreamAddress endpoint = StreamAddress.fromJson(where);
    return client
        .connect(endpoint.port(), endpoint.host())
        .transform(
            connected ->
                connected.succeeded()
                    ? opened(address, connected.result(), kind)
                    : overTheBus(address, endpoint, connected.cause()));
  }

  /**
   * Waits for the proofs. A peer with a different secret, or one that has closed the connection,
   * must not make this process fall back to the event bus.
   */
  private Future<Transport> opened(String address, NetSocket socket, TransportKind kind) {
    Stream stream =
        new Stream(
            address, JobSecrets.of(vertx).forAddress(address), socket, kind, sharing, this::closed);
    streams.add(stream);
    stream.opened().timeout(OPEN_MILLIS, TimeUnit.MILLISECONDS).onFailure(late -> socket.close());
    return stream.opened();
  }

  private Future<Transport> overTheBus(String address, StreamAddress endpoint, Throwable refused) {
    LOG.warn(
        "no stream to {} at {} ({}): its frames go over the event bus, which is slower; let nodes"
            + " reach each other at any port, or set exchange.transport to bus",
        address,
        endpoint,
        refused.getMessage());
    return Future.succeededFuture(bus);
  }

  private void closed(Stream stream) {
    streams.remove(stream);
    transports.remove(stream.address());
  }

  /** Checks every stream for timeouts. */
  private void sweep() {
    long now = System.nanoTime();
    streams.forEach(stream -> stream.sweep(now));
  }
}
