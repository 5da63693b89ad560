package io.vertigrad.streams;

import java.util.Optional;

/**
 * One event.
 *
 * @param lane a sequence of its own within the source, such as a partition of a topic: earlier
 *     labels are those of the same lane
 * @param index number of the event within its source, for messages
 * @param trained false if the event belongs to another rank and only gives its label to those after
 *     it
 * @param values the values of the requested fields: text, numbers, booleans, or null where an event
 *     has none; no elements if it cannot be read
 * @param problem what was found and what was expected, if the event cannot be read
 */
@SuppressWarnings("ArrayRecordComponent")
public record Event(
    int lane, long index, boolean trained, Object[] values, Optional<String> problem) {

  /**
   * Creates an event that can be read.
   *
   * @param lane a sequence of its own within the source
   * @param index number of the event within its source
   * @param trained false if the event belongs to another rank
   * @param values the values of the requested fields
   */
  public Event(int lane, long index, boolean trained, Object[] values) {
    this(lane, index, trained, values, Optional.empty());
  }

  /**
   * Creates an event that cannot be read. {@code data.onBadEvent} decides what becomes of it.
   *
   * @param lane a sequence of its own within the source
   * @param index number of the event within its source
   * @param trained false if the event belongs to another rank
   * @param problem what was found and what was expected, without the place
   * @return the event
   */
  public static Event unreadable(int lane, long index, boolean trained, String problem) {
    return new Event(lane, index, trained, new Object[0], Optional.of(problem));
  }

  /**
   * The form in which a source holds an event, for an event that is not trained on.
   *
   * @param place for messages, such as {@code events.csv: line 17}
   * @param origin identifies the event in a source that can be read again, such as {@code
   *     prices/0@17}; empty for other sources
   * @param key key of the record; empty if there is none
   * @param bytes the event
   */
  public record Original(String place, String origin, byte[] key, byte[] bytes) {}
}
