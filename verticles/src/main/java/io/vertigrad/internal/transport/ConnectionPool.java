package io.vertigrad.internal.transport;

import io.vertigrad.internal.security.JobSecrets;
import io.vertigrad.job.TransportKind;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetSocket;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connections to addresses in other processes: it looks an address up over the event bus, connects
 * once, and forgets the connection when it closes. Any thread may use it.
 */
final class ConnectionPool {

  private static final Logger LOG = LoggerFactory.getLogger(ConnectionPool.class);
  private static final long ASK_MILLIS = 2_000;
  private static final long OPEN_MILLIS = 10_000;

  private final Vertx vertx;
  private final NetClient client;
  private final Optional<SharedMemory> sharing;
  private final BusTransport bus;
  private final Map<String, Future<Transport>> ways = new ConcurrentHashMap<>();
  private final Set<Stream> streams = ConcurrentHashMap.newKeySet();

  /**
   * Creates a pool without connections.
   *
   * @param sharing the shared memory of this process; empty if it shares none
   */
  ConnectionPool(Vertx vertx, NetClient client, Optional<SharedMemory> sharing) {
    this.sharing = sharing;
    this.vertx = vertx;
    this.client = client;
    this.bus = new BusTransport(vertx.eventBus());
  }

  /**
   * Returns the transport to an address: a stream, or the event bus if the other process accepts no
   * streams.
   *
   * @param kind whether payloads may, or must, go through shared memory; the same for all requests
   *     to an address, since they belong to one job
   * @return fails like a request over the bus when nobody listens there
   */
  Future<Transport> to(String address, TransportKind kind) {
    Future<Transport> known = ways.get(address);
    if (known != null) {
      return known;
    }
    Promise<Transport> way = Promise.promise();
    known = ways.putIfAbsent(address, way.future());
    if (known != null) {
      return known;
    }
    find(address, kind).onFailure(nobody -> ways.remove(address, way.future())).onComplete(way);
    return way.future();
  }

  /** Checks every stream for timeouts; called several times a second. */
  void sweep(long now) {
    streams.forEach(stream -> stream.sweep(now));
  }

  private Future<Transport> find(String address, TransportKind kind) {
    DeliveryOptions asking =
        new DeliveryOptions().addHeader(BusListener.WHERE, "").setSendTimeout(ASK_MILLIS);
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
            address,
            JobSecrets.of(vertx).forAddress(address),
            socket,
            kind,
            sharing,
            this::closed);
    streams.add(stream);
    long late =
        vertx.setTimer(
            OPEN_MILLIS,
            id -> {
              if (!stream.opened().isComplete()) {
                socket.close();
              }
            });
    return stream.opened().onComplete(open -> vertx.cancelTimer(late));
  }

  private void closed(Stream stream) {
    streams.remove(stream);
    ways.remove(stream.address());
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
}
