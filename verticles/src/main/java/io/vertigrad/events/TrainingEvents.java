package io.vertigrad.events;

import io.reactivex.rxjava3.core.BackpressureStrategy;
import io.reactivex.rxjava3.core.Flowable;
import io.vertigrad.codecs.Addresses;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.Optional;

/**
 * A job's training events as a flow, for terminals, dashboards and your own code.
 *
 * <p>Back-pressure: a subscriber that is slower than the job misses progress, never a landmark.
 * Events that it has not requested yet wait in an {@link EventBacklog}. When {@value
 * EventBacklog#CAPACITY} events wait, the oldest progress or refusal is dropped for the next event.
 * Evaluations, joins, leaves, checkpoints, start and end are kept. A subscriber with that many
 * landmarks waiting is cut off with a {@code MissingBackpressureException}. Counters in progress
 * events are totals, so that a dropped event costs only resolution.
 */
public final class TrainingEvents {

  private TrainingEvents() {}

  /**
   * Returns the events of a job from now on, in the order in which they arrive at this node.
   *
   * <p>Each subscriber has its own consumer, from its subscription to its cancellation. The flow
   * does not complete, because members still leave after a job has ended. Events of unknown types
   * are left out. Events are emitted on an event loop, which a subscriber must not block.
   *
   * @param vertx a node of the job's cluster
   * @param job the job's name
   * @return the events; no consumer is registered before the first subscription
   */
  public static Flowable<TrainingEvent> of(Vertx vertx, String job) {
    String address = new Addresses(job).events();
    return of(
        Flowable.create(
            emitter -> {
              MessageConsumer<JsonObject> consumer =
                  vertx.eventBus().consumer(address, message -> emitter.onNext(message.body()));
              emitter.setCancellable(consumer::unregister);
            },
            BackpressureStrategy.MISSING));
  }

  /**
   * Returns the events of a job from now on, for Vert.x's RxJava binding.
   *
   * @param vertx a node of the job's cluster
   * @param job the job's name
   * @return the events
   */
  public static Flowable<TrainingEvent> of(io.vertx.rxjava3.core.Vertx vertx, String job) {
    return of(vertx.getDelegate(), job);
  }

  /**
   * Returns the same events for a subscriber that may be slower than the events arrive: it misses
   * the oldest progress, and never a landmark, as described above. If you create a flow of events
   * yourself, bound it with this method.
   *
   * @param arriving events that are emitted whether or not they were requested
   * @return the flow with back-pressure; it fails with a {@code MissingBackpressureException} when
   *     {@value EventBacklog#CAPACITY} landmarks wait
   */
  public static Flowable<TrainingEvent> keepingLandmarks(Flowable<TrainingEvent> arriving) {
    return arriving
        .onBackpressureReduce(EventBacklog::new, EventBacklog::plus)
        .concatMapIterable(EventBacklog::take, 1);
  }

  /** Returns events from JSON that may arrive faster than it is requested. */
  static Flowable<TrainingEvent> of(Flowable<JsonObject> arriving) {
    return keepingLandmarks(
        arriving.mapOptional(json -> Optional.ofNullable(TrainingEvent.fromJson(json))));
  }
}
