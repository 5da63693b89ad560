package io.vertigrad.events;

import io.vertigrad.codecs.Addresses;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBus;

/** Publishes training events as JSON on the job's event address; safe from any thread. */
public final class EventPublisher {

  private final EventBus bus;
  private final String address;

  /**
   * Creates a publisher for one job.
   *
   * @param vertx a node of the job's cluster
   * @param addresses of the job
   */
  public EventPublisher(Vertx vertx, Addresses addresses) {
    bus = vertx.eventBus();
    address = addresses.events();
  }

  /**
   * Publishes an event and returns at once; nobody confirms that it arrived.
   *
   * @param event what happened
   */
  public void publish(TrainingEvent event) {
    bus.publish(address, event.toJson());
  }
}
