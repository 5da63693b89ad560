package io.vertigrad.streams;

import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** Reads the events of one rank, batch after batch. Used by one thread. */
public interface EventReader extends AutoCloseable {

  /**
   * Returns the next batch when it is complete.
   *
   * @param millis longest wait
   * @return the events of the next step, at least one besides those that only give their labels;
   *     empty if they have not come yet. An event that cannot be read is {@link Event#unreadable}
   * @throws io.vertigrad.compute.data.DataException when the source has failed
   */
  Optional<List<Event>> poll(long millis);

  /**
   * Returns the position after the last batch.
   *
   * @return values from which {@link EventSource#open} goes on; empty if the source cannot be read
   *     again
   */
  Optional<JsonObject> position();

  /**
   * Returns where the last batch ended, in a form that is kept for every step.
   *
   * @return empty if reading from an earlier {@link #position} finds the same batches
   */
  default long[] cursor() {
    return new long[0];
  }

  /**
   * Goes on after a batch that was trained on before, if that needs no events.
   *
   * @param cursor the cursor after that batch
   * @return the lane of its events; empty if the next call of {@link #poll} must read them again,
   *     no further than to the cursor
   */
  default OptionalInt skipTo(long[] cursor) {
    return OptionalInt.empty();
  }

  /**
   * Returns the form in which the source holds an event of the last batch.
   *
   * @param index index of the event in the last batch
   * @param event the event
   * @return with the place only, by default
   */
  default Event.Original original(int index, Event event) {
    return new Event.Original(place(event), "", new byte[0], new byte[0]);
  }

  /**
   * Refuses an event that cannot be read, or that the schema refuses.
   *
   * @param index index of the event in the last batch
   * @param why what was found and what was expected
   * @return true if the sender got the reason and training goes on without the event; false to end
   *     with an error, the default
   */
  default boolean refuse(int index, String why) {
    return false;
  }

  /**
   * Receives the fate of the oldest batch that has not been acknowledged.
   *
   * @param applied false if it was left out of the training
   */
  default void acknowledge(boolean applied) {}

  /**
   * Returns the number of events so far whose label did not come in time.
   *
   * @return 0 if events carry their labels
   */
  default long unlabelled() {
    return 0;
  }

  /**
   * Returns the number of labels so far that found no event: they came too late, or their event
   * never came.
   *
   * @return 0 if events carry their labels
   */
  default long unmatched() {
    return 0;
  }

  /**
   * Returns those labels.
   *
   * @return the ones since the last call
   */
  default List<Event.Original> strays() {
    return List.of();
  }

  /**
   * Returns the number of events that the source no longer had when they were to be read.
   *
   * @return since this reader was opened
   */
  default long lost() {
    return 0;
  }

  /**
   * Returns what the user must know about the source.
   *
   * @return the messages since the last call
   */
  default List<String> warnings() {
    return List.of();
  }

  /**
   * Returns the place of an event for messages.
   *
   * @param event one that this reader has returned
   * @return such as {@code events.csv: line 17}
   */
  String place(Event event);

  /**
   * Returns where the events come from, for messages.
   *
   * @return such as {@code events.csv}
   */
  String name();

  /**
   * Returns what a reader waits for that gets no events, for messages. Any thread.
   *
   * @return such as {@code topic prices, partition 0 is silent}
   */
  default String awaited() {
    return name() + " is silent";
  }

  @Override
  void close();
}
