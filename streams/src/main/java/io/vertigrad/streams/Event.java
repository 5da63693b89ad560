package io.vertigrad.streams;

/**
 * One event.
 *
 * @param lane a sequence of its own within the source, such as a partition of a topic: earlier
 *     labels are those of the same lane
 * @param index number of the event within its source, for messages
 * @param trained false if the event belongs to another rank and only gives its label to those after
 *     it
 * @param values the values of the requested fields: text, numbers, booleans, or null where an event
 *     has none
 */
@SuppressWarnings("ArrayRecordComponent")
public record Event(int lane, long index, boolean trained, Object[] values) {}
