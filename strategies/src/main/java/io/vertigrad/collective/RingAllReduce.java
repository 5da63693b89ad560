package io.vertigrad.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.GradientProgress;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Sums a vector over all workers, which then hold the same bits: reduce-scatter and all-gather
 * around the ring, Patarasuk and Yuan 2009.
 *
 * <p>The vector is cut into as many chunks as there are workers. A chunk is summed along the ring,
 * always in the same order. The last worker rounds the sum once to the exchange type, and all
 * others take that tensor. Each worker sends {@code 2 M (N - 1) / N} elements in {@code 2 (N - 1)}
 * phases.
 *
 * <p>Phases overlap: each piece is added and passed on when it arrives. A worker sends only a few
 * pieces of its own chunk ahead of those that reach it, so the data in flight stays in the
 * processor's cache for vectors of any length.
 *
 * <p>If the vector becomes final in parts, each piece is sent as soon as it is final. The path and
 * the sums are the same; only the order of the messages differs.
 */
final class RingAllReduce implements AllReduce {

  private static final int AHEAD = 4;

  /**
   * Number of pieces of a vector that becomes final in parts. The last piece is sent when no
   * computation hides it any more, so it should be small.
   */
  private static final int PROGRESSIVE_PIECES = 32;

  /** Number of elements of the smallest piece, so that each is worth a message. */
  private static final int LEAST_ELEMENTS = 7_152;

  private final Peers peers;
  private final PeerGroup group;
  private final DataType type;
  private final int most;

  /**
   * Creates the algorithm for one group.
   *
   * @param pieceElements largest number of elements of one piece, the same at all workers
   * @param length number of elements of the vectors
   */
  RingAllReduce(Peers peers, PeerGroup group, DataType type, int pieceElements, int length) {
    this.peers = peers;
    this.group = group;
    this.type = type;
    this.most = Math.min(pieceElements, AllReduce.ringElements(length, group.size()));
  }

  @Override
  public int phases() {
    return 2 * (group.size() - 1);
  }

  @Override
  public void sum(long round, float[] vector) {
    if (group.size() > 1) {
      for (int piece = 0; piece < AHEAD; piece++) {
        sendOwn(round, piece, vector);
      }
      peers.receive(
          group.left(), incoming(round, vector), (tag, tensor) -> take(tag, tensor, vector));
    }
  }

  @Override
  public void sum(long round, float[] vector, GradientProgress progress) {
    int fine = Math.max(LEAST_ELEMENTS, vector.length / PROGRESSIVE_PIECES);
    new RingAllReduce(peers, group, type, Math.min(most, fine), vector.length)
        .sumAsReady(round, vector, progress);
  }

  private void sumAsReady(long round, float[] vector, GradientProgress progress) {
    Progressive sum = new Progressive(round, vector);
    progress.follow(sum::ready);
    try {
      if (group.size() > 1) {
        peers.receive(group.left(), incoming(round, vector), sum::take);
      }
      progress.await();
    } finally {
      sum.end();
    }
  }

  /**
   * One sum of a vector that is not final yet. A message for a piece waits until this worker's
   * share of the piece is final. Any thread.
   */
  private final class Progressive {

    private final long round;
    private final float[] vector;
    private final int[][] missing = new int[group.size()][];
    private final Map<Tag, Tensor> early = new HashMap<>();
    private boolean over;

    Progressive(long round, float[] vector) {
      this.round = round;
      this.vector = vector;
      for (int index = 0; index < missing.length; index++) {
        VectorSlices chunk = chunk(index, vector);
        missing[index] = new int[chunk.count()];
        Arrays.setAll(missing[index], chunk::size);
      }
    }

    /** Reports that these elements are final. */
    synchronized void ready(int first, int end) {
      for (int index = 0; index < missing.length && !over; index++) {
        VectorSlices chunk = chunk(index, vector);
        for (int piece = 0; piece < chunk.count(); piece++) {
          int start = chunk.start(piece);
          int some = Math.min(end, start + chunk.size(piece)) - Math.max(first, start);
          if (some > 0) {
            missing[index][piece] -= some;
            if (missing[index][piece] == 0) {
              begin(index, piece);
            }
          }
        }
      }
    }

    private void begin(int index, int piece) {
      if (index == group.position()) {
        sendOwn(round, piece, vector);
        return;
      }
      int phase = Math.floorMod(group.position() - index - 1, group.size());
      Tag tag = new Tag(round, phase, piece);
      Tensor waiting = early.remove(tag);
      if (waiting != null) {
        add(tag, waiting, vector);
      }
    }

    /** Handles a message, before or after this worker's share is final. */
    synchronized void take(Tag tag, TensorView tensor) {
      int index = Math.floorMod(group.position() - tag.phase() - 1, group.size());
      if (tag.phase() < group.size() - 1 && missing[index][tag.piece()] > 0) {
        early.put(tag, tensor.retain());
      } else if (!over) {
        add(tag, tensor, vector);
      }
    }

    /** Ends the sum: sends nothing more. */
    synchronized void end() {
      over = true;
    }
  }

  private List<Tag> incoming(long round, float[] vector) {
    List<Tag> tags = new ArrayList<>();
    for (int phase = 0; phase < phases(); phase++) {
      int count = incomingChunk(phase, vector).count();
      for (int piece = 0; piece < count; piece++) {
        tags.add(new Tag(round, phase, piece));
      }
    }
    return tags;
  }

  private void take(Tag tag, TensorView tensor, float[] vector) {
    add(tag, tensor, vector);
    if (tag.phase() == 0) {
      sendOwn(tag.round(), tag.piece() + AHEAD, vector);
    }
  }

  /** Adds a piece that is still being summed, or copies one whose sum is complete; passes it on. */
  private void add(Tag tag, TensorView tensor, float[] vector) {
    VectorSlices chunk = incomingChunk(tag.phase(), vector);
    TensorView piece = chunk.checked(tensor, tag.piece(), group.left());
    if (tag.phase() < group.size() - 2) {
      peers.sendSum(group.right(), next(tag), type, chunk.in(vector, tag.piece()), piece);
    } else if (tag.phase() == group.size() - 2) {
      complete(tag, piece, chunk, vector);
    } else {
      piece.copyTo(vector, chunk.start(tag.piece()));
      if (tag.phase() < phases() - 1) {
        passOn(tag, chunk, vector);
      }
    }
  }

  private void complete(Tag tag, TensorView piece, VectorSlices chunk, float[] vector) {
    piece.addTo(vector, chunk.start(tag.piece()), 1);
    if (type != DataType.FLOAT32) {
      chunk.of(vector, tag.piece(), type).copyTo(vector, chunk.start(tag.piece()));
    }
    passOn(tag, chunk, vector);
  }

  private void sendOwn(long round, int piece, float[] vector) {
    VectorSlices own = chunk(group.position(), vector);
    if (piece < own.count()) {
      peers.send(group.right(), new Tag(round, 0, piece), type, own.in(vector, piece));
    }
  }

  /**
   * Passes on values that are rounded already, so rounding them again does not change their bits.
   */
  private void passOn(Tag tag, VectorSlices chunk, float[] vector) {
    peers.send(group.right(), next(tag), type, chunk.in(vector, tag.piece()));
  }

  private static Tag next(Tag tag) {
    return new Tag(tag.round(), tag.phase() + 1, tag.piece());
  }

  /** Returns the chunk that reaches this worker in a phase. */
  private VectorSlices incomingChunk(int phase, float[] vector) {
    return chunk(group.position() - phase - 1, vector);
  }

  private VectorSlices chunk(int index, float[] vector) {
    int chunks = group.size();
    return VectorSlices.chunk(vector.length, Math.floorMod(index, chunks), chunks, most);
  }
}
