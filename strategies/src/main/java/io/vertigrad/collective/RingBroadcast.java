package io.vertigrad.collective;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;

/** Copies one worker's vector to all others, bit for bit, piece by piece around the ring. */
public final class RingBroadcast {

  private final Peers peers;
  private final PeerGroup group;
  private final int most;

  /**
   * Creates the copy for one group.
   *
   * @param peers connects this worker to the others
   * @param group the workers
   * @param pieceElements largest number of elements of one message, the same at all workers
   */
  public RingBroadcast(Peers peers, PeerGroup group, int pieceElements) {
    this.peers = peers;
    this.group = group;
    this.most = pieceElements;
  }

  /**
   * Copies the vector of the worker at position {@code source} over everyone else's.
   *
   * @param source position of the worker whose vector is copied
   * @param round number of the exchange
   * @param phase distinguishes several vectors of one round
   * @param vector as many elements at all workers
   */
  public void from(int source, long round, int phase, float[] vector) {
    VectorSlices pieces = new VectorSlices(0, vector.length, most);
    boolean first = group.position() == source;
    boolean last = group.right() == group.rank(source);
    for (int piece = 0; piece < pieces.count(); piece++) {
      Tag tag = new Tag(round, phase, piece);
      TensorView tensor =
          first
              ? pieces.of(vector, piece, DataType.FLOAT32)
              : pieces.checked(peers.receive(group.left(), tag), piece, group.left());
      if (!last) {
        peers.send(group.right(), tag, tensor);
      }
      if (!first) {
        tensor.copyTo(vector, pieces.start(piece));
      }
    }
  }
}
