package io.vertigrad.verticles.strategy;

import io.vertigrad.codecs.Frame;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives a {@link Seat} an address, a thread and a clock.
 *
 * <p>Frames arrive and answers leave on this verticle's event loop, with nothing in between. A
 * message is kept until it is answered; the senders' windows bound how many there are.
 */
public final class StrategyVerticle extends VerticleBase {

  private static final Logger LOG = LoggerFactory.getLogger(StrategyVerticle.class);
  private static final long TICK_MILLIS = 100;
  private static final int DEFECT = 500;

  private final String address;
  private final Seat seat;
  private MessageConsumer<Frame> consumer;
  private long timer;

  /**
   * Serves a seat.
   *
   * @param address where its frames arrive; nobody else may listen there
   */
  public StrategyVerticle(String address, Seat seat) {
    this.address = address;
    this.seat = seat;
  }

  @Override
  public Future<?> start() {
    consumer = vertx.eventBus().consumer(address, this::serve);
    timer = vertx.setPeriodic(TICK_MILLIS, id -> seat.tick(System.nanoTime()));
    return consumer.completion();
  }

  @Override
  public Future<?> stop() {
    vertx.cancelTimer(timer);
    seat.close("the server at " + address + " is stopping; wait for its replacement");
    return consumer.unregister();
  }

  private void serve(Message<Frame> message) {
    seat.handle(message.body())
        .onComplete(
            (answer, defect) -> {
              if (defect == null) {
                message.reply(answer);
              } else {
                LOG.error("{}: defect, the frame was not dealt with", address, defect);
                message.fail(DEFECT, "defect at " + address + ": " + defect);
              }
            });
  }
}
