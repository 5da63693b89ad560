package io.vertigrad.collective;

import io.vertigrad.codecs.ErrorFeedback;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import java.nio.FloatBuffer;
import java.util.List;

/**
 * Sums compressed gradients. Each worker compresses its gradient once, sends it to every other
 * worker, and adds what compression left out to its next gradient.
 *
 * <p>Around a ring, sums would be compressed again at every step, and no worker could correct that
 * error later. With direct exchange, as in QSGD (Alistarh et al. 2017), every worker adds the same
 * tensors in rank order, so all have the same bits. The tail of the vector, statistics and the
 * sample count, is never compressed.
 */
public final class CompressedAllReduce implements AllReduce {

  private static final int HEAD = 0;
  private static final int TAIL = 1;

  private final DirectAllReduce direct;
  private final PeerContext context;
  private final ErrorFeedback feedback;
  private final int compressed;

  /**
   * Creates the sum for one group.
   *
   * @param context connects this worker to the others
   * @param group the workers
   * @param feedback of this worker, the same in every group
   * @param compressed number of elements at the head of the vector that are compressed
   */
  public CompressedAllReduce(
      PeerContext context, PeerGroup group, ErrorFeedback feedback, int compressed) {
    this.direct =
        new DirectAllReduce(context.peers(), group, context.type(), context.pieceElements());
    this.context = context;
    this.feedback = feedback;
    this.compressed = compressed;
  }

  @Override
  public int phases() {
    return 2;
  }

  @Override
  public void sum(long round, float[] vector) {
    VectorSlices head = new VectorSlices(0, compressed, context.pieceElements());
    VectorSlices tail =
        new VectorSlices(compressed, vector.length - compressed, context.pieceElements());
    // Both are sent before either is waited for, so that a step takes one round trip.
    List<TensorView> heads =
        direct.send(
            round,
            HEAD,
            head,
            piece -> {
              int start = head.start(piece);
              return feedback.compress(start, FloatBuffer.wrap(vector, start, head.size(piece)));
            });
    List<TensorView> tails =
        direct.send(round, TAIL, tail, piece -> tail.of(vector, piece, context.type()));
    direct.add(round, HEAD, head, heads, vector);
    direct.add(round, TAIL, tail, tails, vector);
  }
}
