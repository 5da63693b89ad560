package io.vertigrad.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.util.List;

/**
 * Sums small vectors of many workers by recursive doubling, Thakur, Rabenseifner and Gropp 2005.
 *
 * <p>In phase {@code k} each worker exchanges its sum with the one whose position differs in bit
 * {@code k - 1}, and both add the same two vectors, in the rounded form that is sent: all have the
 * same bits at the end. Workers beyond the largest power of two add theirs to another worker's in
 * phase 0 and get the sum in the last phase. Each worker sends {@code M log2(N)} elements in as
 * many messages, where the direct algorithm sends {@code N - 1}.
 */
final class RecursiveDoubling implements AllReduce {

  private final Peers peers;
  private final PeerGroup group;
  private final DataType type;
  private final int most;
  private final int paired;
  private final int levels;

  RecursiveDoubling(Peers peers, PeerGroup group, DataType type, int pieceElements) {
    this.peers = peers;
    this.group = group;
    this.type = type;
    this.most = pieceElements;
    this.paired = Integer.highestOneBit(group.size());
    this.levels = Integer.numberOfTrailingZeros(paired);
  }

  @Override
  public int phases() {
    return levels + 2;
  }

  @Override
  public void sum(long round, float[] vector) {
    VectorSlices pieces = new VectorSlices(0, vector.length, most);
    int own = group.position();
    int last = phases() - 1;
    if (own >= paired) {
      send(own - paired, round, 0, vector, pieces);
      receive(own - paired, round, last, pieces, (tensor, start) -> tensor.copyTo(vector, start));
      return;
    }
    boolean stands = own + paired < group.size();
    if (stands) {
      round(vector, pieces);
      receive(own + paired, round, 0, pieces, (tensor, start) -> tensor.addTo(vector, start, 1));
    }
    for (int level = 0; level < levels; level++) {
      int partner = own ^ 1 << level;
      send(partner, round, level + 1, vector, pieces);
      round(vector, pieces);
      receive(partner, round, level + 1, pieces, (tensor, start) -> tensor.addTo(vector, start, 1));
    }
    if (paired < group.size()) {
      round(vector, pieces);
    }
    if (stands) {
      send(own + paired, round, last, vector, pieces);
    }
  }

  private void send(int position, long round, int phase, float[] vector, VectorSlices pieces) {
    for (int piece = 0; piece < pieces.count(); piece++) {
      peers.send(
          group.rank(position), new Tag(round, phase, piece), pieces.of(vector, piece, type));
    }
  }

  private void receive(
      int position, long round, int phase, VectorSlices pieces, PieceHandler handler) {
    int rank = group.rank(position);
    for (int piece = 0; piece < pieces.count(); piece++) {
      int start = pieces.start(piece);
      peers.receive(
          rank,
          List.of(new Tag(round, phase, piece)),
          (tag, tensor) -> handler.take(pieces.checked(tensor, tag.piece(), rank), start));
    }
  }

  /** Rounds the vector to the type that is sent. */
  private void round(float[] vector, VectorSlices pieces) {
    if (type != DataType.FLOAT32) {
      for (int piece = 0; piece < pieces.count(); piece++) {
        pieces.of(vector, piece, type).copyTo(vector, pieces.start(piece));
      }
    }
  }

  /** Handles a received piece whose first element has the index {@code start}. */
  private interface PieceHandler {
    void take(TensorView tensor, int start);
  }
}
