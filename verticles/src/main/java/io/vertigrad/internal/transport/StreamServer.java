package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetSocket;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The port where one address takes streams, served on the event loop of whoever opened it. */
final class StreamServer {

  private static final Logger LOG = LoggerFactory.getLogger(StreamServer.class);
  private static final long OPENING_MILLIS = 10_000;

  private final Vertx vertx;
  private final Streams streams;
  private final String address;
  private final Function<Frame, Future<Frame>> answers;
  private final boolean lends;
  private final NetServer server;

  private StreamServer(
      Streams streams, String address, Function<Frame, Future<Frame>> answers, boolean lends) {
    this.lends = lends;
    this.vertx = streams.vertx();
    this.streams = streams;
    this.address = address;
    this.answers = answers;
    this.server =
        vertx
            .createNetServer(streams.listening())
            .connectHandler(this::accept)
            .exceptionHandler(bad -> LOG.debug("stream to {}: {}", address, bad.toString()));
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
              return opening;
            });
  }

  StreamAddress endpoint() {
    return new StreamAddress(streams.host(), server.actualPort());
  }

  /** Ends the port and every stream to it; whoever still sends looks for the address anew. */
  Future<Void> close() {
    streams.listens(address, false);
    return server.close();
  }

  private void accept(NetSocket socket) {
    StreamSession session = StreamSession.serve(socket, address, answers, lends);
    vertx.setTimer(OPENING_MILLIS, late -> session.expectOpened());
  }
}
