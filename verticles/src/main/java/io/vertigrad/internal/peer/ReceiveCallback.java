package io.vertigrad.internal.peer;

import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Tag;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.BiConsumer;

/**
 * Handles the messages of one worker on the threads that deliver them, while the thread that wants
 * them waits. Tensors are added up on arrival. Any thread may deliver; one message is handled at a
 * time.
 */
final class ReceiveCallback {

  private final BiConsumer<Tag, TensorView> taker;
  private final Set<Tag> pending;
  private Throwable failure;
  private boolean ended;

  ReceiveCallback(Collection<Tag> tags, BiConsumer<Tag, TensorView> taker) {
    this.pending = new LinkedHashSet<>(tags);
    this.taker = taker;
  }

  /**
   * Handles a message.
   *
   * @return true if no more messages are expected
   */
  synchronized boolean take(Tag tag, TensorView tensor) {
    if (!ended && pending.remove(tag)) {
      try {
        taker.accept(tag, tensor);
      } catch (Throwable e) {
        failure = e;
      }
      ended = failure != null || pending.isEmpty();
    }
    return ended;
  }

  /** Returns true if no more messages are expected. Throws the failure of a message's handler. */
  synchronized boolean isEnded() {
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure != null) {
      throw (RuntimeException) failure;
    }
    return ended;
  }

  /** Returns the number of messages that have not arrived. */
  synchronized int pending() {
    return pending.size();
  }

  /** Returns the first message that has not arrived. */
  synchronized Tag next() {
    return pending.iterator().next();
  }

  /** Ends the callback: it ignores all later messages. */
  synchronized void end() {
    ended = true;
  }
}
