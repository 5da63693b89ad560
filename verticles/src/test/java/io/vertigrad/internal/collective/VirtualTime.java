package io.vertigrad.internal.collective;

import java.util.PriorityQueue;

/**
 * A clock that jumps from one event to the next. Events of the same time run in the order in which
 * they were added.
 */
final class VirtualTime {

  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private long now;
  private long sequence;

  private record Event(long nanos, long order, Runnable action) implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      int byTime = Long.compare(nanos, other.nanos);
      return byTime != 0 ? byTime : Long.compare(order, other.order);
    }
  }

  long now() {
    return now;
  }

  void at(long nanos, Runnable action) {
    events.add(new Event(nanos, sequence++, action));
  }

  /** Runs the next event; returns false if there is none. */
  boolean advance() {
    Event event = events.poll();
    if (event == null) {
      return false;
    }
    now = Math.max(now, event.nanos());
    event.action().run();
    return true;
  }
}
