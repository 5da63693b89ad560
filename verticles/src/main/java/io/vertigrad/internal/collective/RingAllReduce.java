package io.vertigrad.internal.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.util.ArrayList;
import java.util.List;

/**
 * Sums a vector over all workers, which then hold the same bits: reduce-scatter and all-gather
 * around the ring, Patarasuk and Yuan 2009.
 *
 * <p>The vector is cut into as many chunks as there are workers. A chunk's sum is formed along the
 * ring, always in the same order, and rounded once to the exchange type by the last worker, whose
 * tensor is what everyone takes. Each worker sends {@code 2 M (N - 1) / N} elements in {@code 2 (N
 * - 1)} phases.
 *
 * <p>Phases overlap: each piece is added and passed on as it comes, and of its own chunk a worker
 * sends a few pieces ahead of those that reach it, so that what is under way stays in the
 * processor's cache however long the vector is.
 */
final class RingAllReduce implements AllReduce {

  private static final int AHEAD = 4;

  private final Peers peers;
  private final PeerGroup group;
  private final DataType type;
  private final int most;

  RingAllReduce(Peers peers, PeerGroup group, DataType type, int pieceElements) {
    this.peers = peers;
    this.group = group;
    this.type = type;
    this.most = Math.min(pieceElements, RING_ELEMENTS);
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

  private List<Tag> incoming(long round, float[] vector) {
    List<Tag> tags = new ArrayList<>();
    for (int phase = 0; phase < phases(); phase++) {
      int count = coming(phase, vector).count();
      for (int piece = 0; piece < count; piece++) {
        tags.add(new Tag(round, phase, piece));
      }
    }
    return tags;
  }

  private void take(Tag tag, TensorView tensor, float[] vector) {
    VectorSlices chunk = coming(tag.phase(), vector);
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
    if (tag.phase() == 0) {
      sendOwn(tag.round(), tag.piece() + AHEAD, vector);
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

  /** Values that were rounded before round to themselves, so that their bits stay the same. */
  private void passOn(Tag tag, VectorSlices chunk, float[] vector) {
    peers.send(group.right(), next(tag), type, chunk.in(vector, tag.piece()));
  }

  private static Tag next(Tag tag) {
    return new Tag(tag.round(), tag.phase() + 1, tag.piece());
  }

  /** The chunk that reaches this worker in a phase. */
  private VectorSlices coming(int phase, float[] vector) {
    return chunk(group.position() - phase - 1, vector);
  }

  private VectorSlices chunk(int index, float[] vector) {
    int chunks = group.size();
    return VectorSlices.chunk(vector.length, Math.floorMod(index, chunks), chunks, most);
  }
}
