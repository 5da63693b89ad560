package io.vertigrad.verticles.transport;

import io.vertigrad.codecs.Frame;
import io.vertx.core.Future;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;

/** Frames as messages of the event bus: within a process the very record, else its bytes. */
public final class BusTransport implements Transport {

  private final EventBus bus;

  public BusTransport(EventBus bus) {
    this.bus = bus;
  }

  @Override
  public Future<Frame> request(String address, Frame frame, long limitMillis) {
    DeliveryOptions delivery = new DeliveryOptions().setSendTimeout(limitMillis);
    return bus.<Frame>request(address, frame, delivery).map(Message::body);
  }
}
