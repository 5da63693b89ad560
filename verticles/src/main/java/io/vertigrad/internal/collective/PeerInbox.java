package io.vertigrad.internal.collective;

import io.vertigrad.codecs.Tensor;
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
 * Keeps what other workers sent until it is asked for; hands each message out once, however often
 * it came.
 *
 * <p>All of a worker's messages of one round are taken before any of its later ones, so remembering
 * the newest round taken is enough to know a duplicate. Messages of older epochs are dropped, those
 * of newer ones kept. Bounded by what the others can send before they need an answer. Any thread.
 */
public final class PeerInbox {

  private final Map<Key, Arrived> waiting = new HashMap<>();
  private final Set<Key> expected = new HashSet<>();
  private final Map<Integer, Taken> taken = new HashMap<>();
  private int epoch;
  private long arrivedNanos;

  private record Key(int from, int epoch, Tag tag) {}

  private record Arrived(Tensor tensor, long nanos) {}

  private record Taken(long round, Set<Tag> tags) {}

  /** What became of a message. */
  public enum Fate {
    /** Of an older epoch, or here before. */
    UNWANTED,
    /** Waits to be taken. */
    KEPT,
    /** {@linkplain #expect Expected}, and now the caller's to hand over. */
    EXPECTED
  }

  /** Takes a message in; of a lent tensor it keeps a copy. */
  public synchronized Fate accept(
      int from, int sentEpoch, Tag tag, TensorView tensor, long nowNanos) {
    Key key = new Key(from, sentEpoch, tag);
    if (sentEpoch < epoch
        || sentEpoch == epoch && wasTaken(from, tag)
        || waiting.containsKey(key)) {
      return Fate.UNWANTED;
    }
    if (expected.remove(key)) {
      noteTaken(from, tag, nowNanos);
      return Fate.EXPECTED;
    }
    waiting.put(key, new Arrived(tensor.retain(), nowNanos));
    return Fate.KEPT;
  }

  /**
   * Has these messages of the adopted epoch given to whoever brings them; returns which are here.
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

  /** Keeps everything again. */
  public synchronized void expectNothing() {
    expected.clear();
  }

  /** Moves on to an epoch. */
  public synchronized void adopt(int newEpoch) {
    epoch = newEpoch;
    taken.clear();
    waiting.keySet().removeIf(key -> key.epoch() < newEpoch);
  }

  /** Hands a message of the adopted epoch out. */
  public synchronized Optional<Tensor> take(int from, Tag tag) {
    Arrived arrived = waiting.remove(new Key(from, epoch, tag));
    if (arrived == null) {
      return Optional.empty();
    }
    noteTaken(from, tag, arrived.nanos());
    return Optional.of(arrived.tensor());
  }

  /** When the latest of the messages handed out had come. */
  public synchronized long arrivedNanos() {
    return arrivedNanos;
  }

  /** Messages that nobody has asked for yet. */
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
