package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.job.PipelineConfig;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.Peers;
import java.nio.FloatBuffer;
import java.util.function.LongSupplier;

/**
 * Sends and receives a stage's values to and from the stages before and after it in its replica, in
 * pieces of one frame each. Used on the stage's thread.
 */
final class StageNeighbours {

  private final Peers peers;
  private final PipelineConfig pipeline;
  private final int rank;
  private final DataType type;
  private final int pieceElements;
  private final LongSupplier nanoClock;
  private long waitedNanos;
  private long transferNanos;

  StageNeighbours(
      Peers peers,
      PipelineConfig pipeline,
      int rank,
      DataType type,
      int pieceElements,
      LongSupplier nanoClock) {
    this.peers = peers;
    this.pipeline = pipeline;
    this.rank = rank;
    this.type = type;
    this.pieceElements = pieceElements;
    this.nanoClock = nanoClock;
  }

  /** Sends values to the next stage, or back; does not wait. */
  void send(Direction direction, long step, int microBatch, FloatBuffer values) {
    long begun = nanoClock.getAsLong();
    int to = direction == Direction.FORWARD ? rank + 1 : rank - 1;
    int length = values.remaining();
    for (int piece = 0; piece * (long) pieceElements < length; piece++) {
      int first = piece * pieceElements;
      FloatBuffer part =
          values.slice(values.position() + first, Math.min(pieceElements, length - first));
      peers.send(
          to, StageFrames.tag(step, direction, microBatch, piece), Tensor.copyOf(type, part));
    }
    transferNanos += nanoClock.getAsLong() - begun;
  }

  /** Waits for the values that the previous stage sends forward, or the next one sends back. */
  float[] receive(Direction direction, long step, int microBatch, int length) {
    int from = direction == Direction.FORWARD ? rank - 1 : rank + 1;
    float[] values = new float[length];
    for (int piece = 0; piece * (long) pieceElements < length; piece++) {
      long begun = nanoClock.getAsLong();
      TensorView tensor = peers.receive(from, StageFrames.tag(step, direction, microBatch, piece));
      long arrived = nanoClock.getAsLong();
      int first = piece * pieceElements;
      int expected = Math.min(pieceElements, length - first);
      if (tensor.length() != expected) {
        throw new ExchangeException(
            "%s: piece %s of micro-batch %s of step %s from %s has %s elements, expected %s"
                .formatted(
                    pipeline.name(rank),
                    piece,
                    microBatch,
                    step,
                    pipeline.name(from),
                    tensor.length(),
                    expected));
      }
      tensor.copyTo(values, first);
      waitedNanos += arrived - begun;
      transferNanos += nanoClock.getAsLong() - arrived;
    }
    return values;
  }

  /**
   * Returns the time spent waiting for others so far: the pipeline bubble and the transfer time.
   */
  long waitedNanos() {
    return waitedNanos;
  }

  /** Returns the time spent on creating, sending and unpacking tensors so far. */
  long transferNanos() {
    return transferNanos;
  }
}
