package io.vertigrad.streams.internal;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Joins the events of one lane with labels that come later, by a key. What it does follows from the
 * events and labels alone, and not from when they are read. Used by one thread.
 */
final class LabelJoin {

  private final LabelConfig config;
  private final Map<String, Waiting> waiting = new LinkedHashMap<>();
  private long newestMillis = Long.MIN_VALUE;
  private long unlabelled;
  private long unmatched;

  /**
   * An event that waits for its label, or has it.
   *
   * @param index number of the event within its source
   * @param millis time of the event
   * @param source the record or message that holds the event
   */
  @SuppressWarnings("ArrayRecordComponent")
  record Waiting(long index, long millis, Object[] values, Object source) {}

  LabelJoin(LabelConfig config) {
    this.config = config;
  }

  /** Adds an event without a label. */
  void add(String key, Waiting event) {
    newestMillis = Math.max(newestMillis, event.millis());
    if (waiting.remove(key) != null) {
      unlabelled++;
    }
    waiting.put(key, event);
    if (waiting.size() > config.most()) {
      Iterator<Waiting> oldest = waiting.values().iterator();
      oldest.next();
      oldest.remove();
      unlabelled++;
    }
    expire(event.millis());
  }

  /**
   * Gives an event its label.
   *
   * @param millis time of the label
   * @return the event; empty if no event with that key waits
   */
  Optional<Waiting> label(String key, long millis, Object label) {
    expire(millis);
    Waiting event = waiting.remove(key);
    if (event == null) {
      unmatched++;
      return Optional.empty();
    }
    event.values()[event.values().length - 1] = label;
    return Optional.of(event);
  }

  /** Returns true if an event with this key waits. */
  boolean waitsFor(String key) {
    return waiting.containsKey(key);
  }

  /** Returns true if all events up to a time have been added. */
  boolean isPast(long millis) {
    return newestMillis > millis;
  }

  /** Drops the events whose labels would come too late. */
  private void expire(long millis) {
    Iterator<Waiting> oldest = waiting.values().iterator();
    while (oldest.hasNext() && oldest.next().millis() < millis - config.withinMillis()) {
      oldest.remove();
      unlabelled++;
    }
  }

  /** Returns the numbers of the events that wait, in their order. */
  List<Long> indices() {
    return waiting.values().stream().map(Waiting::index).toList();
  }

  /** Returns the number of events that never got their label. */
  long unlabelled() {
    return unlabelled;
  }

  /** Returns the number of labels that found no event. */
  long unmatched() {
    return unmatched;
  }

  /** Returns the time of the newest event; {@link Long#MIN_VALUE} before the first. */
  long newestMillis() {
    return newestMillis;
  }

  /** Goes on from earlier counts. */
  void restore(long events, long labels, long newest) {
    unlabelled = events;
    unmatched = labels;
    newestMillis = newest;
  }
}
