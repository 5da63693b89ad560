package io.vertigrad.observability;

import io.vertigrad.events.TrainingEvent;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Passes each event to the method for its kind, so that a class which reads several kinds has one
 * method for each. Used by one thread.
 */
public final class EventFold {

  private static final String BEFORE_TYPE = "{\"type\":\"";

  private final Map<Class<?>, Consumer<TrainingEvent>> methods = new HashMap<>();
  private final Set<String> types = new HashSet<>();

  /** Creates a fold that reads no kind of events. */
  public EventFold() {}

  /**
   * Reads a kind of events; a second method for the same kind is called after the first.
   *
   * @param kind a record of {@link TrainingEvent}
   * @param method takes each event of this kind
   * @param <E> the kind
   * @return this
   */
  public <E extends TrainingEvent> EventFold on(Class<E> kind, Consumer<? super E> method) {
    types.add(TrainingEvent.typeOf(kind));
    methods.merge(kind, event -> method.accept(kind.cast(event)), Consumer::andThen);
    return this;
  }

  /**
   * Returns whether a line may hold an event of a kind that is read; looks at its beginning alone.
   *
   * @param line a line of an {@code events.jsonl}
   */
  boolean mayRead(String line) {
    int end = line.startsWith(BEFORE_TYPE) ? line.indexOf('"', BEFORE_TYPE.length()) : -1;
    return end < 0 || types.contains(line.substring(BEFORE_TYPE.length(), end));
  }

  /**
   * Passes on the next event.
   *
   * @param event any event; nothing happens if its kind is not read
   * @return whether its kind is read
   */
  public boolean apply(TrainingEvent event) {
    Consumer<TrainingEvent> method = methods.get(event.getClass());
    if (method != null) {
      method.accept(event);
    }
    return method != null;
  }
}
