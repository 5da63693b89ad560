package io.vertigrad.internal.transport;

import io.vertx.core.Future;
import io.vertx.core.VerticleBase;

/**
 * Gives a {@link FrameEndpoint} an address, a thread and a clock.
 *
 * <p>Frames arrive and answers leave on this verticle's event loop, with nothing in between. A
 * message is kept until it is answered; the senders' windows bound how many there are.
 */
public final class EndpointVerticle extends VerticleBase {

  private static final long TICK_MILLIS = 100;

  private final String address;
  private final FrameEndpoint endpoint;
  private Future<Transport.Listening> listening;
  private long timer;

  /**
   * Serves a endpoint.
   *
   * @param address where its frames arrive; nobody else may listen there
   */
  public EndpointVerticle(String address, FrameEndpoint endpoint) {
    this.address = address;
    this.endpoint = endpoint;
  }

  @Override
  public Future<?> start() {
    timer = vertx.setPeriodic(TICK_MILLIS, id -> endpoint.tick(System.nanoTime()));
    listening = Transport.borrow(vertx, address, endpoint::handle);
    return listening;
  }

  @Override
  public Future<?> stop() {
    vertx.cancelTimer(timer);
    endpoint.close("the server at " + address + " is stopping; wait for its replacement");
    return listening.compose(Transport.Listening::close);
  }
}
