package io.vertigrad.observability;

import io.vertigrad.events.TrainingEvent;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Passes each event to the method for its kind, so that a class which reads several kinds has one
 * method for each. Used by one thread.
 */
public final class EventFold {

  private final Map<Class<?>, Consumer<TrainingEvent>> methods = new HashMap<>();

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
    methods.merge(kind, event -> method.accept(kind.cast(event)), Consumer::andThen);
    return this;
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
