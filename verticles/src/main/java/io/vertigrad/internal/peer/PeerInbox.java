package io.vertigrad.internal.peer;

import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Tag;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Stores messages from other workers until they are taken. Returns each message once, even if it
 * arrives several times.
 *
 * <p>All messages of a worker's round are taken before any of its later rounds, so the newest round
 * taken identifies duplicates. Messages of older epochs are dropped, messages of newer epochs are
 * stored. The size is bounded by what the others can send before they need an answer. Any thread.
 *
 * <p>Borrowed tensors are copied into memory that is reused once they are {@linkplain #giveBack
 * given back}: allocating it anew for every message would cost more than the copies.
 */
public final class PeerInbox {

  /**
   * Direct memory for the messages of models of usual size; those of larger ones go to the heap.
   */
  private static final long DIRECT_BYTES = 32 << 20;

  private final TensorMemory memory = TensorMemory.outsideHeapUpTo(DIRECT_BYTES);
  private final Map<Key, Arrived> waiting = new HashMap<>();
  private final Set<Key> expected = new HashSet<>();
  private final Map<Integer, Taken> taken = new HashMap<>();
  private int epoch;
  private long arrivedNanos;

  private record Key(int from, int epoch, Tag tag) {}

  private record Arrived(TensorView tensor, long nanos) {}

  private record Taken(long round, Set<Tag> tags) {}

  /** The result of accepting a message. */
  public enum Acceptance {
    /** Dropped: its epoch is old, or it is a duplicate. */
    DROPPED,
    /** Stored until it is taken. */
    STORED,
    /** {@linkplain #expect Expected}: the caller must deliver it. */
    EXPECTED
  }

  /** Accepts a message. Copies a borrowed tensor if the message is stored. */
  public synchronized Acceptance accept(
      int from, int sentEpoch, Tag tag, TensorView tensor, long nowNanos) {
    Key key = new Key(from, sentEpoch, tag);
    if (sentEpoch < epoch
        || sentEpoch == epoch && wasTaken(from, tag)
        || waiting.containsKey(key)) {
      return Acceptance.DROPPED;
    }
    if (expected.remove(key)) {
      noteTaken(from, tag, nowNanos);
      return Acceptance.EXPECTED;
    }
    waiting.put(key, new Arrived(memory.keep(tensor), nowNanos));
    return Acceptance.STORED;
  }

  /**
   * Marks messages of the adopted epoch as expected, so that {@link #accept} leaves them to its
   * caller. Returns those that are stored already.
   */
  public synchronized List<Tag> expect(int from, Collection<Tag> tags) {
    List<Tag> here = new ArrayList<>();
    for (Tag tag : tags) {
      Key key = new Key(from, epoch, tag);
      if (waiting.containsKey(key)) {
        here.add(tag);
      } else {
        expected.add(key);
      }
    }
    return here;
  }

  /** Stops expecting messages: all are stored again. */
  public synchronized void expectNothing() {
    expected.clear();
  }

  /** Adopts an epoch. */
  public synchronized void adopt(int newEpoch) {
    epoch = newEpoch;
    taken.clear();
    waiting
        .entrySet()
        .removeIf(
            message -> {
              boolean old = message.getKey().epoch() < newEpoch;
              if (old) {
                memory.giveBack(message.getValue().tensor());
              }
              return old;
            });
  }

  /**
   * Removes a message of the adopted epoch and returns it. Its tensor is valid until it is
   * {@linkplain #giveBack given back}.
   */
  public synchronized Optional<TensorView> take(int from, Tag tag) {
    Arrived arrived = waiting.remove(new Key(from, epoch, tag));
    if (arrived == null) {
      return Optional.empty();
    }
    noteTaken(from, tag, arrived.nanos());
    return Optional.of(arrived.tensor());
  }

  /** Reuses the memory of a message that was taken and is no longer read. */
  public void giveBack(TensorView tensor) {
    memory.giveBack(tensor);
  }

  /** Returns the time at which the latest of the messages taken had arrived. */
  public synchronized long arrivedNanos() {
    return arrivedNanos;
  }

  /** Returns the number of stored messages. */
  public synchronized int size() {
    return waiting.size();
  }

  private void noteTaken(int from, Tag tag, long nanos) {
    Taken before = taken.get(from);
    if (before == null || before.round() < tag.round()) {
      before = new Taken(tag.round(), new HashSet<>());
      taken.put(from, before);
    }
    before.tags().add(tag);
    arrivedNanos = Math.max(arrivedNanos, nanos);
  }

  private boolean wasTaken(int from, Tag tag) {
    Taken before = taken.get(from);
    return before != null && (tag.round() < before.round() || before.tags().contains(tag));
  }
}
