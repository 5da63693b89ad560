package io.vertigrad.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Sums small vectors: each worker sends its vector to every other worker.
 *
 * <p>Every worker adds the same tensors in rank order, and its own in the rounded form that the
 * others receive, so all have the same bits. Each worker sends {@code M (N - 1)} elements in one
 * phase.
 */
final class DirectAllReduce implements AllReduce {

  private final Peers peers;
  private final PeerGroup group;
  private final DataType type;
  private final int most;

  DirectAllReduce(Peers peers, PeerGroup group, DataType type, int pieceElements) {
    this.peers = peers;
    this.group = group;
    this.type = type;
    this.most = pieceElements;
  }

  @Override
  public int phases() {
    return 1;
  }

  @Override
  public void sum(long round, float[] vector) {
    if (group.size() > 1) {
      VectorSlices pieces = new VectorSlices(0, vector.length, most);
      List<TensorView> own = send(round, 0, pieces, piece -> pieces.of(vector, piece, type));
      add(round, 0, pieces, own, vector);
    }
  }

  /**
   * Sends a range of the vector to all others.
   *
   * @param outgoing makes the tensor of each piece
   * @return the tensors that were sent
   */
  List<TensorView> send(
      long round, int phase, VectorSlices pieces, IntFunction<TensorView> outgoing) {
    List<TensorView> own = new ArrayList<>();
    for (int piece = 0; piece < pieces.count(); piece++) {
      TensorView tensor = outgoing.apply(piece);
      own.add(tensor);
      for (int next = 1; next < group.size(); next++) {
        int rank = group.rank(group.position() + next);
        peers.send(rank, new Tag(round, phase, piece), tensor);
      }
    }
    return own;
  }

  /** Replaces a range of the vector by the sum of what all others and this worker have sent. */
  void add(long round, int phase, VectorSlices pieces, List<TensorView> own, float[] vector) {
    for (int piece = 0; piece < pieces.count(); piece++) {
      add(own.get(piece), new Tag(round, phase, piece), vector, pieces);
    }
  }

  /** Adds the tensors in rank order, whatever the order of arrival. */
  private void add(TensorView own, Tag tag, float[] vector, VectorSlices pieces) {
    int start = pieces.start(tag.piece());
    for (int position = 0; position < group.size(); position++) {
      boolean first = position == 0;
      if (position == group.position()) {
        add(own, first, vector, start);
      } else {
        int rank = group.rank(position);
        peers.receive(
            rank,
            List.of(tag),
            (same, tensor) -> add(pieces.checked(tensor, tag.piece(), rank), first, vector, start));
      }
    }
  }

  private static void add(TensorView tensor, boolean first, float[] vector, int start) {
    if (first) {
      tensor.copyTo(vector, start);
    } else {
      tensor.addTo(vector, start, 1);
    }
  }
}
