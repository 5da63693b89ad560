package io.vertigrad.events;

import io.reactivex.rxjava3.exceptions.MissingBackpressureException;
import io.vertigrad.events.TrainingEvent.Progress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;

/**
 * Events that wait for a slow subscriber. The queue is bounded: landmarks are kept, and the oldest
 * progress is dropped.
 */
final class EventBacklog {

  static final int CAPACITY = 1024;

  private final Deque<TrainingEvent> waiting = new ArrayDeque<>();

  /**
   * Adds an event.
   *
   * @throws MissingBackpressureException if the queue is full of landmarks and the event is one
   */
  EventBacklog plus(TrainingEvent event) throws MissingBackpressureException {
    if (waiting.size() == CAPACITY && !dropOldestProgress()) {
      if (event instanceof Progress) {
        return this;
      }
      throw new MissingBackpressureException(
          "a subscriber to training events left %s evaluations, joins, leaves and checkpoints"
                  .formatted(CAPACITY)
              + " waiting; ask for more, or subscribe on a thread of its own");
    }
    waiting.add(event);
    return this;
  }

  /** Returns all waiting events, oldest first. */
  List<TrainingEvent> take() {
    return List.copyOf(waiting);
  }

  private boolean dropOldestProgress() {
    for (Iterator<TrainingEvent> oldest = waiting.iterator(); oldest.hasNext(); ) {
      if (oldest.next() instanceof Progress) {
        oldest.remove();
        return true;
      }
    }
    return false;
  }
}
