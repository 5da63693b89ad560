package io.vertigrad.verticles.strategy.decentral;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;

/**
 * Sums a vector over all workers, which then hold the same bits: reduce-scatter and all-gather
 * around the ring, Patarasuk and Yuan 2009.
 *
 * <p>The vector is cut into as many chunks as there are workers. A chunk's sum is formed along the
 * ring, always in the same order, and rounded once to the exchange type by the last worker, whose
 * tensor is what everyone takes. Each worker sends {@code 2 M (N - 1) / N} elements in {@code 2 (N
 * - 1)} phases; pieces of a chunk follow each other, so that phases overlap.
 */
final class RingReduction implements Reduction {

  private final Peers peers;
  private final PeerGroup group;
  private final DataType type;
  private final int most;

  RingReduction(Peers peers, PeerGroup group, DataType type, int pieceElements) {
    this.peers = peers;
    this.group = group;
    this.type = type;
    this.most = pieceElements;
  }

  @Override
  public int phases() {
    return 2 * (group.size() - 1);
  }

  @Override
  public void sum(long round, float[] vector) {
    if (group.size() > 1) {
      scatter(round, vector);
      gather(round, vector);
    }
  }

  private void scatter(long round, float[] vector) {
    int last = group.size() - 2;
    Pieces first = chunk(vector, group.position());
    for (int piece = 0; piece < first.count(); piece++) {
      send(round, 0, piece, first.of(vector, piece, type));
    }
    for (int phase = 0; phase <= last; phase++) {
      Pieces chunk = chunk(vector, group.position() - phase - 1);
      for (int piece = 0; piece < chunk.count(); piece++) {
        receive(round, phase, piece, chunk).addTo(vector, chunk.start(piece), 1);
        Tensor sum = chunk.of(vector, piece, type);
        if (phase == last && type != DataType.FLOAT32) {
          sum.copyTo(vector, chunk.start(piece));
        }
        send(round, phase + 1, piece, sum);
      }
    }
  }

  private void gather(long round, float[] vector) {
    int first = group.size() - 1;
    for (int phase = first; phase < phases(); phase++) {
      Pieces chunk = chunk(vector, group.position() - (phase - first));
      for (int piece = 0; piece < chunk.count(); piece++) {
        Tensor sum = receive(round, phase, piece, chunk);
        if (phase + 1 < phases()) {
          send(round, phase + 1, piece, sum);
        }
        sum.copyTo(vector, chunk.start(piece));
      }
    }
  }

  private Pieces chunk(float[] vector, int index) {
    int chunks = group.size();
    return Pieces.chunk(vector.length, Math.floorMod(index, chunks), chunks, most);
  }

  private void send(long round, int phase, int piece, Tensor tensor) {
    peers.send(group.right(), new Tag(round, phase, piece), tensor);
  }

  private Tensor receive(long round, int phase, int piece, Pieces chunk) {
    int from = group.left();
    return chunk.checked(peers.receive(from, new Tag(round, phase, piece)), piece, from);
  }
}
