package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.security.JobSecrets;
import io.vertigrad.internal.transport.Transport.Listening;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A listener at an address of the event bus: it receives frames, and answers lookups with the
 * address of its stream server.
 */
final class BusListener implements Listening {

  /** Header of a message that has no frame but asks for the {@link StreamAddress}. */
  static final String ADDRESS_LOOKUP = "vertigrad-stream";

  private static final Logger LOG = LoggerFactory.getLogger(BusListener.class);
  private static final int DEFECT = 500;

  private final Function<Frame, Future<Frame>> handler;
  private final Optional<StreamServer> streams;
  private final MessageConsumer<Object> consumer;
  private final Runnable closed;

  private BusListener(
      Vertx vertx,
      String address,
      Function<Frame, Future<Frame>> handler,
      Optional<StreamServer> streams) {
    this.handler = handler;
    this.streams = streams;
    JobSecrets secrets = JobSecrets.of(vertx);
    secrets.setListening(address, true);
    closed = () -> secrets.setListening(address, false);
    consumer = vertx.eventBus().consumer(address, this::onMessage);
  }

  static Future<Listening> open(
      Vertx vertx, String address, Function<Frame, Future<Frame>> handler, boolean lends) {
    AtomicBoolean logged = new AtomicBoolean();
    Function<Frame, Future<Frame>> handlerWithErrors =
        frame -> answer(address, handler, frame, logged);
    return Streams.of(vertx)
        .map(
            streams ->
                StreamServer.open(streams, address, handlerWithErrors, lends).map(Optional::of))
        .orElseGet(() -> Future.succeededFuture(Optional.empty()))
        .map(streams -> new BusListener(vertx, address, handlerWithErrors, streams))
        .compose(listener -> listener.consumer.completion().map(listener));
  }

  @Override
  public Future<Void> close() {
    streams.ifPresent(StreamServer::close);
    closed.run();
    return consumer.unregister();
  }

  private void onMessage(Message<Object> message) {
    if (message.headers().contains(ADDRESS_LOOKUP)) {
      message.reply(streams.map(open -> open.endpoint().toJson()).orElse(null));
      return;
    }
    handler
        .apply((Frame) message.body())
        .onComplete(
            (answer, defect) -> {
              if (defect == null) {
                message.reply(answer);
              } else {
                message.fail(DEFECT, defect.getMessage());
              }
            });
  }

  /** Passes a frame on. The first defect of a listener is logged; the senders learn of all. */
  private static Future<Frame> answer(
      String address, Function<Frame, Future<Frame>> handler, Frame frame, AtomicBoolean logged) {
    Future<Frame> answered;
    try {
      answered = handler.apply(frame);
    } catch (Throwable defect) {
      answered = Future.failedFuture(defect);
    }
    return answered.recover(
        defect -> {
          if (logged.compareAndSet(false, true)) {
            LOG.error("{}: a defect; the frame was not dealt with", address, defect);
          }
          return Future.failedFuture("defect at " + address + ": " + defect);
        });
  }
}
