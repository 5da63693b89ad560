package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertx.core.Completable;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;

/**
 * Sends frames as messages of the event bus: the record itself within a process, its bytes to other
 * processes.
 */
public final class BusTransport implements Transport {

  private final EventBus bus;

  public BusTransport(EventBus bus) {
    this.bus = bus;
  }

  @Override
  public void request(String address, Frame frame, long limitMillis, Completable<Frame> answered) {
    DeliveryOptions delivery = new DeliveryOptions().setSendTimeout(limitMillis);
    bus.<Frame>request(address, frame, delivery).map(Message::body).onComplete(answered);
  }
}
