package io.vertigrad.internal.peer;

import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Tag;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.BiConsumer;

/**
 * Messages of one worker that are dealt with by whoever brings them, while the thread that wants
 * them waits: tensors are added up where they arrive. Any thread; one message at a time.
 */
final class ReceiveCallback {

  private final BiConsumer<Tag, TensorView> taker;
  private final Set<Tag> missing;
  private RuntimeException failure;
  private boolean over;

  ReceiveCallback(Collection<Tag> tags, BiConsumer<Tag, TensorView> taker) {
    this.missing = new LinkedHashSet<>(tags);
    this.taker = taker;
  }

  /**
   * Deals with a message.
   *
   * @return true when nothing more is to come
   */
  synchronized boolean take(Tag tag, TensorView tensor) {
    if (!over && missing.remove(tag)) {
      try {
        taker.accept(tag, tensor);
      } catch (RuntimeException e) {
        failure = e;
      }
      over = failure != null || missing.isEmpty();
    }
    return over;
  }

  /** True when nothing more is to come; throws what a message could not be dealt with for. */
  synchronized boolean isOver() {
    if (failure != null) {
      throw failure;
    }
    return over;
  }

  /** How many messages have not come yet. */
  synchronized int missing() {
    return missing.size();
  }

  /** The first message that has not come yet. */
  synchronized Tag next() {
    return missing.iterator().next();
  }

  /** Deals with nothing more. */
  synchronized void end() {
    over = true;
  }
}
