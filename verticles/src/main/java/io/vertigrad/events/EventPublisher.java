package io.vertigrad.events;

import io.vertigrad.codecs.Addresses;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBus;

/** Publishes training events as JSON on the job's event address. Any thread may use it. */
public final class EventPublisher {

  private final EventBus bus;
  private final String address;

  /**
   * Creates a publisher for one job.
   *
   * @param vertx a node of the job's cluster
   * @param addresses addresses of the job
   */
  public EventPublisher(Vertx vertx, Addresses addresses) {
    bus = vertx.eventBus();
    address = addresses.events();
  }

  /**
   * Publishes an event and returns at once, without a confirmation that it arrived.
   *
   * @param event the event
   */
  public void publish(TrainingEvent event) {
    bus.publish(address, event.toJson());
  }
}
