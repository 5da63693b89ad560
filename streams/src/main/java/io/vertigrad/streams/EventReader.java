package io.vertigrad.streams;

import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;

/** Reads the events of one rank, batch after batch. Used by one thread. */
public interface EventReader extends AutoCloseable {

  /**
   * Returns the next batch when it is complete.
   *
   * @param millis longest wait
   * @return the events of the next step, at least one besides those that only give their labels;
   *     empty if they have not come yet
   * @throws io.vertigrad.compute.data.DataException when the source has failed, or has an event
   *     that cannot be read
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
   * Refuses an event that the schema refuses.
   *
   * @param index index of the event in the last batch
   * @param why what was found and what was expected
   * @return true if the sender was told and training goes on without the event; false to end with
   *     an error, the default
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

  @Override
  void close();
}
