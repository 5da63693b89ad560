package io.vertigrad.internal.transport;

import io.netty.channel.Channel;
import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.security.JobSecrets;
import io.vertigrad.internal.security.PeerWarnings;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetSocket;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The port at which one address accepts streams, served on the event loop that opened it. */
final class StreamServer {

  private static final Logger LOG = LoggerFactory.getLogger(StreamServer.class);
  private static final int OPENING_SECONDS = 10;
  private static final long SWEEP_MILLIS = 1_000;

  /** New connections that are accepted in a tick; about 600 a second. */
  private static final int MOST_PER_TICK = 32;

  private static final long TICK_MILLIS = 50;

  /** Most connections that are open without a proof, from all hosts together. */
  static final int MOST_UNPROVED = 256;

  /** Time for one message; 30 s for the largest frame are 18 KB/s. */
  private static final int MESSAGE_SECONDS = 30;

  private final Vertx vertx;
  private final Streams streams;
  private final String address;
  private final Function<Frame, Future<Frame>> handler;
  private final boolean lends;
  private final JobSecret secret;
  private final NetServer server;
  private final PeerWarnings warnings = new PeerWarnings(LOG::warn);
  private final Set<StreamSession> sessions = ConcurrentHashMap.newKeySet();

  /** Sessions without a proof when last checked, and their hosts; oldest first. */
  private final Map<StreamSession, String> unproved = new LinkedHashMap<>();

  private final AcceptRate rate = new AcceptRate();
  private long sweeping;

  private StreamServer(
      Streams streams, String address, Function<Frame, Future<Frame>> handler, boolean lends) {
    this.lends = lends;
    this.vertx = streams.vertx();
    this.streams = streams;
    this.address = address;
    this.handler = handler;
    this.secret = JobSecrets.of(vertx).forAddress(address);
    this.server =
        vertx
            .createNetServer(streams.listening())
            .connectHandler(this::onConnection)
            .exceptionHandler(this::onConnectionFailure);
  }

  /** Opens a port; fails when there is none. */
  static Future<StreamServer> open(
      Streams streams, String address, Function<Frame, Future<Frame>> handler, boolean lends) {
    StreamServer opening = new StreamServer(streams, address, handler, lends);
    return opening
        .server
        .listen()
        .map(
            bound -> {
              streams.setListening(address, true);
              opening.sweeping = streams.vertx().setPeriodic(SWEEP_MILLIS, tick -> opening.sweep());
              return opening;
            });
  }

  StreamAddress endpoint() {
    return new StreamAddress(streams.host(), server.actualPort());
  }

  /** Closes the port and every stream to it; senders then look the address up again. */
  Future<Void> close() {
    streams.setListening(address, false);
    vertx.cancelTimer(sweeping);
    return server.close();
  }

  private void onConnection(NetSocket socket) {
    rate.count(((NetSocketInternal) socket).channelHandlerContext().channel().parent());
    if (sessions.size() >= streams.maxConnections()) {
      socket.exceptionHandler(ignored -> {});
      warnings.warn(
          String.valueOf(socket.remoteAddress().hostAddress()),
          "a stream to %s from %s is closed: %s are open, the most that one listener serves"
              .formatted(address, socket.remoteAddress(), sessions.size()),
          System.nanoTime());
      socket.close();
      return;
    }
    StreamSession session =
        StreamSession.serve(socket, address, handler, lends, secret, streams.sharing(), warnings);
    sessions.add(session);
    socket.closeHandler(
        closed -> {
          sessions.remove(session);
          unproved.remove(session);
          session.closed();
        });
    unproved.put(session, String.valueOf(socket.remoteAddress().hostAddress()));
    if (unproved.size() > MOST_UNPROVED) {
      unproved.keySet().removeIf(StreamSession::isOpened);
    }
    if (unproved.size() > MOST_UNPROVED) {
      closeOldest();
    }
  }

  /** Closes the oldest connection of the host that has the most connections without a proof. */
  private void closeOldest() {
    Map<String, Integer> hosts = new HashMap<>();
    unproved.values().forEach(host -> hosts.merge(host, 1, Integer::sum));
    String most = Collections.max(hosts.entrySet(), Map.Entry.comparingByValue()).getKey();
    for (Map.Entry<StreamSession, String> entry : unproved.entrySet()) {
      if (entry.getValue().equals(most)) {
        warnings.warn(
            most,
            "streams to %s from %s are closed: more than %s connections are open that prove nothing"
                .formatted(address, most, MOST_UNPROVED),
            System.nanoTime());
        unproved.remove(entry.getKey());
        entry.getKey().end();
        return;
      }
    }
  }

  /**
   * Reports a connection that was never made, for example because TLS failed; its peer is not
   * known.
   */
  private void onConnectionFailure(Throwable bad) {
    rate.count(null);
    warnings.warn("unknown peers", "stream to %s: %s".formatted(address, bad), System.nanoTime());
  }

  /** Checks all sessions. It iterates over copies, because closing a session removes it at once. */
  void sweep() {
    unproved.keySet().removeIf(StreamSession::isOpened);
    List.copyOf(unproved.keySet()).forEach(session -> session.closeIfUnproved(OPENING_SECONDS));
    List.copyOf(sessions).forEach(session -> session.closeIfStalled(MESSAGE_SECONDS));
  }

  /**
   * Limits the rate of new connections, so that they do not delay frames. Netty accepts connections
   * on a thread of its own and queues their setup at the listener's event loop, without limit;
   * frames and control messages would wait behind them. After that many connections in a tick the
   * port pauses, and others wait in the system's queue.
   */
  private final class AcceptRate {

    private Channel port;
    private int counted;
    private boolean counting;

    /** Counts a connection; {@code from} is the port, or null if the connection was never made. */
    void count(Channel from) {
      port = from == null ? port : from;
      counted++;
      if (counted == MOST_PER_TICK && port != null) {
        port.config().setAutoRead(false);
      }
      if (!counting) {
        counting = true;
        vertx.setTimer(TICK_MILLIS, tick -> resume());
      }
    }

    private void resume() {
      counting = false;
      counted = 0;
      if (port != null) {
        port.config().setAutoRead(true);
      }
    }
  }
}
