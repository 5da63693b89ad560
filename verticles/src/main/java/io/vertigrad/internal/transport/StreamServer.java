package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.security.JobSecrets;
import io.vertigrad.internal.security.PeerWarnings;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetSocket;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The port where one address takes streams, served on the event loop of whoever opened it. */
final class StreamServer {

  private static final Logger LOG = LoggerFactory.getLogger(StreamServer.class);
  private static final long OPENING_MILLIS = 10_000;
  private static final long SWEEP_MILLIS = 1_000;

  /** 30 s for the largest frame are 18 KB/s. */
  private static final int MESSAGE_SECONDS = 30;

  private final Vertx vertx;
  private final Streams streams;
  private final String address;
  private final Function<Frame, Future<Frame>> answers;
  private final boolean lends;
  private final JobSecret secret;
  private final NetServer server;
  private final PeerWarnings warnings = new PeerWarnings(LOG::warn);
  private final Set<StreamSession> sessions = ConcurrentHashMap.newKeySet();
  private long sweeping;

  private StreamServer(
      Streams streams, String address, Function<Frame, Future<Frame>> answers, boolean lends) {
    this.lends = lends;
    this.vertx = streams.vertx();
    this.streams = streams;
    this.address = address;
    this.answers = answers;
    this.secret = JobSecrets.of(vertx).forAddress(address);
    this.server =
        vertx
            .createNetServer(streams.listening())
            .connectHandler(this::accept)
            .exceptionHandler(bad -> broken(bad));
  }

  /** Opens a port; fails when there is none. */
  static Future<StreamServer> open(
      Streams streams, String address, Function<Frame, Future<Frame>> answers, boolean lends) {
    StreamServer opening = new StreamServer(streams, address, answers, lends);
    return opening
        .server
        .listen()
        .map(
            bound -> {
              streams.listens(address, true);
              opening.sweeping = streams.vertx().setPeriodic(SWEEP_MILLIS, tick -> opening.sweep());
              return opening;
            });
  }

  StreamAddress endpoint() {
    return new StreamAddress(streams.host(), server.actualPort());
  }

  /** Ends the port and every stream to it; whoever still sends looks for the address anew. */
  Future<Void> close() {
    streams.listens(address, false);
    vertx.cancelTimer(sweeping);
    return server.close();
  }

  private void accept(NetSocket socket) {
    if (sessions.size() >= streams.maxConnections()) {
      socket.exceptionHandler(broken -> {});
      warnings.warn(
          String.valueOf(socket.remoteAddress().hostAddress()),
          "a stream to %s from %s is closed: %d are open, as many as exchange.maxConnections allows"
              .formatted(address, socket.remoteAddress(), sessions.size()),
          System.nanoTime());
      socket.close();
      return;
    }
    StreamSession session =
        StreamSession.serve(
            socket, address, answers, lends, secret, streams.sharing(), streams.limit(), warnings);
    sessions.add(session);
    socket.closeHandler(
        closed -> {
          sessions.remove(session);
          session.closed();
        });
    vertx.setTimer(OPENING_MILLIS, late -> session.expectOpened());
  }

  /** A connection that was never made, such as one whose TLS failed: whose it was is not known. */
  private void broken(Throwable bad) {
    warnings.warn("unknown peers", "stream to %s: %s".formatted(address, bad), System.nanoTime());
  }

  /** Closing one ends its session here and now, so it goes over a copy. */
  void sweep() {
    List.copyOf(sessions).forEach(session -> session.expectMessage(MESSAGE_SECONDS));
  }
}
