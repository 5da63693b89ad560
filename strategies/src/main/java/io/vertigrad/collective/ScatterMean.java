package io.vertigrad.collective;

import io.vertigrad.codecs.ErrorFeedback;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.nio.FloatBuffer;
import java.util.Optional;

/**
 * Averages vectors over all workers of a group while the workers do other work.
 *
 * <p>The vector is cut into one chunk for each worker. Every worker sends each chunk to the worker
 * that owns it. The owner adds the chunks in rank order, divides by the number of workers, and
 * sends the mean to all others. Each worker sends {@code 2 M (N - 1) / N} elements in two phases.
 * All workers take the tensor that the owner sends, so they hold the same bits.
 *
 * <p>What is sent may be compressed in both phases, each with its own {@link ErrorFeedback}: one
 * for the chunks that this worker sends to their owners, one for the means of the chunk that it
 * owns. A worker's share of its own chunk is not sent, so it stays exact.
 */
public final class ScatterMean {

  private static final int SHARES = 0;
  private static final int MEANS = 1;

  /** Number of phases of one mean. */
  public static final int PHASES = 2;

  private final PeerContext context;
  private final Peers peers;
  private final PeerGroup group;

  /**
   * Creates the means of one group.
   *
   * @param context connects this worker to the others
   * @param group the workers
   */
  public ScatterMean(PeerContext context, PeerGroup group) {
    this.context = context;
    this.peers = context.peers();
    this.group = group;
  }

  /**
   * The residuals of both phases.
   *
   * @param shares of the elements that this worker sends to their owners
   * @param means of the elements that this worker owns
   */
  public record Feedback(ErrorFeedback shares, ErrorFeedback means) {}

  /**
   * Sends this worker's elements and returns at once.
   *
   * @param round number of the exchange
   * @param phase the first of {@link #PHASES} phases
   * @param vector holds the elements; it must not change before {@link Mean#await} has replaced
   *     them
   * @param first index of the first element
   * @param length number of elements
   * @param feedback compresses elements, by their index in the vector; empty to send them in the
   *     exchange type
   * @return the mean that is being computed
   */
  public Mean begin(
      long round, int phase, float[] vector, int first, int length, Optional<Feedback> feedback) {
    Mean mean = new Mean(round, phase, vector, first, length, feedback);
    mean.sendShares();
    return mean;
  }

  /** One mean that is being computed. */
  public final class Mean {

    private final long round;
    private final int phase;
    private final float[] vector;
    private final int first;
    private final int length;
    private final Optional<Feedback> feedback;
    private final VectorSlices own;
    private final TensorView[][] shares;
    private int reduced;

    private Mean(
        long round, int phase, float[] vector, int first, int length, Optional<Feedback> feedback) {
      this.round = round;
      this.phase = phase;
      this.vector = vector;
      this.first = first;
      this.length = length;
      this.feedback = feedback;
      this.own = chunk(group.position());
      this.shares = new TensorView[own.count()][group.size()];
    }

    private void sendShares() {
      for (int next = 1; next < group.size(); next++) {
        int position = Math.floorMod(group.position() + next, group.size());
        VectorSlices chunk = chunk(position);
        for (int piece = 0; piece < chunk.count(); piece++) {
          TensorView share = tensor(chunk, piece, feedback.map(Feedback::shares));
          peers.send(group.rank(position), new Tag(round, phase + SHARES, piece), share);
        }
      }
    }

    /** Handles what has arrived, without waiting. */
    public void advance() {
      boolean complete = true;
      while (complete && reduced < own.count()) {
        for (int position = 0; position < group.size(); position++) {
          if (position != group.position() && shares[reduced][position] == null) {
            shares[reduced][position] =
                peers.poll(group.rank(position), shareTag(reduced)).orElse(null);
            complete &= shares[reduced][position] != null;
          }
        }
        if (complete) {
          reduce();
        }
      }
    }

    /** Waits for the rest. Afterwards the vector holds the mean in all workers. */
    public void await() {
      while (reduced < own.count()) {
        for (int position = 0; position < group.size(); position++) {
          if (position != group.position() && shares[reduced][position] == null) {
            shares[reduced][position] = peers.receive(group.rank(position), shareTag(reduced));
          }
        }
        reduce();
      }
      for (int position = 0; position < group.size(); position++) {
        if (position != group.position()) {
          receiveMeans(position);
        }
      }
    }

    /** Updates the residuals: the tensors have arrived, and their mean was used. */
    public void delivered() {
      if (feedback.isEmpty() || group.size() == 1) {
        return;
      }
      for (int position = 0; position < group.size(); position++) {
        VectorSlices chunk = chunk(position);
        boolean mine = position == group.position();
        ErrorFeedback sent = mine ? feedback.get().means() : feedback.get().shares();
        sent.delivered(chunk.first(), chunk.length());
      }
    }

    /** Adds the shares of the next piece of the own chunk in rank order and sends their mean. */
    private void reduce() {
      int piece = reduced++;
      if (group.size() == 1) {
        return;
      }
      int start = own.start(piece);
      int size = own.size(piece);
      float[] sum = new float[size];
      for (int position = 0; position < group.size(); position++) {
        if (position == group.position()) {
          for (int i = 0; i < size; i++) {
            sum[i] += vector[start + i];
          }
        } else {
          TensorView share = shares[piece][position];
          own.checked(share, piece, group.rank(position)).addTo(sum, 0, 1);
        }
      }
      for (int i = 0; i < size; i++) {
        vector[start + i] = sum[i] / group.size();
      }
      shares[piece] = null;
      TensorView mean = tensor(own, piece, feedback.map(Feedback::means));
      mean.copyTo(vector, start);
      for (int next = 1; next < group.size(); next++) {
        peers.send(group.rank(group.position() + next), meanTag(piece), mean);
      }
    }

    private void receiveMeans(int position) {
      VectorSlices chunk = chunk(position);
      int rank = group.rank(position);
      for (int piece = 0; piece < chunk.count(); piece++) {
        Tensor mean = peers.receive(rank, meanTag(piece));
        chunk.checked(mean, piece, rank).copyTo(vector, chunk.start(piece));
      }
    }

    private TensorView tensor(VectorSlices chunk, int piece, Optional<ErrorFeedback> lossy) {
      FloatBuffer values = chunk.in(vector, piece);
      return lossy.isPresent()
          ? lossy.get().compress(chunk.start(piece), values)
          : Tensor.copyOf(context.type(), values);
    }

    private Tag shareTag(int piece) {
      return new Tag(round, phase + SHARES, piece);
    }

    private Tag meanTag(int piece) {
      return new Tag(round, phase + MEANS, piece);
    }

    private VectorSlices chunk(int position) {
      VectorSlices chunk =
          VectorSlices.chunk(length, position, group.size(), context.pieceElements());
      return new VectorSlices(first + chunk.first(), chunk.length(), chunk.most());
    }
  }
}
