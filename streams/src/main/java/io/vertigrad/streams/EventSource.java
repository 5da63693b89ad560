package io.vertigrad.streams;

import io.vertigrad.compute.settings.Settings;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Brings events from somewhere to the data set {@code stream}. Sources are found through
 * ServiceLoader, by the word that job files use as {@code data.source.kind}.
 *
 * <p>The events of (rank, step) must depend only on what the source holds, and not on time, for a
 * source that can be read again: then a worker that takes over trains on the same batches.
 */
public interface EventSource {

  /**
   * Returns the word that job files use.
   *
   * @return such as {@code file}
   */
  String kind();

  /**
   * Reads and checks the settings, without opening anything that may be slow or absent.
   *
   * @param source the section {@code data.source}; this closes it with {@code refuseUnknown}
   * @throws io.vertigrad.compute.settings.SettingsException naming the key, what was found and what
   *     was expected
   * @throws io.vertigrad.compute.data.DataException if something that must exist does not
   */
  void check(Settings source);

  /**
   * Reads the keys that are valid on one machine, such as paths, with {@code
   * source.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE)}. They are not sent to other machines.
   *
   * @param source the section {@code data.source}, whose values are not checked yet
   */
  default void scopes(Settings source) {}

  /**
   * Returns the number of events, if they have an end that is known before they are read.
   *
   * @param source the section {@code data.source}
   * @return empty if they have no end
   */
  default OptionalLong length(Settings source) {
    return OptionalLong.empty();
  }

  /**
   * Opens the events of one rank.
   *
   * @param source the section {@code data.source}
   * @param reading who reads, and which fields
   * @param position where to go on, from {@link EventReader#position()}; empty for the beginning
   * @return a reader, used by one thread
   */
  EventReader open(Settings source, Reading reading, Optional<JsonObject> position);

  /**
   * What a source needs to know about its reader.
   *
   * @param owner name of the worker in messages
   * @param rank rank of the worker, from 0
   * @param ranks number of ranks that share the events for good
   * @param batch number of events in a batch
   * @param before number of events before each batch whose labels are needed, at least 1
   * @param length number of events of all ranks; empty if they have no end
   * @param fields names of the fields that are read, in the order of an event's values; the label
   *     comes last
   * @param vertx gives access to the event bus of the job's cluster
   * @param goesOn true if training goes on without events that the source no longer has, false if
   *     that is an error
   */
  record Reading(
      String owner,
      int rank,
      int ranks,
      int batch,
      int before,
      OptionalLong length,
      List<String> fields,
      Vertx vertx,
      boolean goesOn) {

    /** Copies the fields. */
    public Reading {
      fields = List.copyOf(fields);
    }
  }
}
