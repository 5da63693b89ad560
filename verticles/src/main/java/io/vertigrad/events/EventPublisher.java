package io.vertigrad.events;

import io.vertigrad.codecs.Addresses;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBus;

/** Publishes training events as JSON on the job's event address; safe from any thread. */
public final class EventPublisher {

  private final EventBus bus;
  private final String address;

  /**
   * Publishes the events of one job.
   *
   * @param vertx whose event bus carries them
   * @param addresses of the job
   */
  public EventPublisher(Vertx vertx, Addresses addresses) {
    bus = vertx.eventBus();
    address = addresses.events();
  }

  /**
   * Publishes an event; any thread.
   *
   * @param event is sent to whoever listens, on every node
   */
  public void publish(TrainingEvent event) {
    bus.publish(address, event.toJson());
  }
}
