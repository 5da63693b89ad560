package io.vertigrad.events;

import io.reactivex.rxjava3.core.BackpressureStrategy;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Scheduler;
import io.vertigrad.codecs.Addresses;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A job's training events as a flow, for terminals, dashboards and anyone's own code.
 *
 * <p>Back-pressure: a subscriber that is slower than the job misses progress, never a landmark.
 * What it has not asked for yet waits in an {@link EventBacklog}: when {@value
 * EventBacklog#CAPACITY} events wait, the oldest progress or refusal is dropped for the next;
 * evaluations, joins, leaves, checkpoints, start and end are kept. A subscriber that lets that many
 * landmarks wait is cut off with a {@code MissingBackpressureException}. Counters in progress
 * events are totals, so that a dropped one costs resolution and nothing else.
 */
public final class TrainingEvents {

  private TrainingEvents() {}

  /**
   * Returns the events of a job from now on, in the order in which they arrive at this node.
   *
   * <p>Each subscriber listens for itself, from its subscription to its cancellation; the flow does
   * not complete, because members still leave after a job has ended. Events whose type this version
   * does not know are left out. Events are emitted on an event loop, which a subscriber must not
   * block.
   *
   * @param vertx a node of the job's cluster
   * @param job the job's name
   * @return the events; nothing is listened for before somebody subscribes
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
   * Returns the same for Vert.x's RxJava binding.
   *
   * @param vertx a node of the job's cluster
   * @param job the job's name
   * @return the events
   */
  public static Flowable<TrainingEvent> of(io.vertx.rxjava3.core.Vertx vertx, String job) {
    return of(vertx.getDelegate(), job);
  }

  /**
   * Returns how fast the workers were, interval by interval; an interval without progress is left
   * out. A subscriber that is too slow sees the newest interval only.
   *
   * @param events of a job
   * @param interval length of an interval, above 0
   * @param unit of the length
   * @param scheduler whose clock counts, and on which intervals are emitted
   * @return one element for each interval
   */
  public static Flowable<Throughput> windows(
      Flowable<TrainingEvent> events, long interval, TimeUnit unit, Scheduler scheduler) {
    return Flowable.defer(
        () -> {
          ThroughputBook book = new ThroughputBook();
          return events
              .ofType(TrainingEvent.WorkerProgress.class)
              .buffer(interval, unit, scheduler)
              .filter(progress -> !progress.isEmpty())
              .map(book::enter)
              .onBackpressureLatest();
        });
  }

  /**
   * The same events for a subscriber that may be slower than they come: it misses the oldest
   * progress, and never a landmark, as said above. Whoever makes a flow of events of their own
   * bounds it so.
   *
   * @param arriving events that are emitted whether or not they were asked for
   * @return the flow that honours back-pressure; it fails with a {@code
   *     MissingBackpressureException} when {@value EventBacklog#CAPACITY} landmarks wait
   */
  public static Flowable<TrainingEvent> keepingLandmarks(Flowable<TrainingEvent> arriving) {
    return arriving
        .onBackpressureReduce(EventBacklog::new, EventBacklog::plus)
        .concatMapIterable(EventBacklog::take, 1);
  }

  /** Events from JSON that arrives faster than anyone may ask for it. */
  static Flowable<TrainingEvent> of(Flowable<JsonObject> arriving) {
    return keepingLandmarks(
        arriving.mapOptional(json -> Optional.ofNullable(TrainingEvent.fromJson(json))));
  }
}
