package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.job.PipelineConfig;
import io.vertigrad.strategy.Peers;
import java.nio.FloatBuffer;
import java.util.function.LongSupplier;

/**
 * One stage's line to the stages before and after it in its replica: values out and in, cut into
 * pieces of a frame each. Belongs to the stage's thread.
 */
final class StageNeighbours {

  private final Peers line;
  private final PipelineConfig pipeline;
  private final int rank;
  private final DataType type;
  private final int pieceElements;
  private final LongSupplier nanoClock;
  private long waitedNanos;
  private long movedNanos;

  StageNeighbours(
      Peers line,
      PipelineConfig pipeline,
      int rank,
      DataType type,
      int pieceElements,
      LongSupplier nanoClock) {
    this.line = line;
    this.pipeline = pipeline;
    this.rank = rank;
    this.type = type;
    this.pieceElements = pieceElements;
    this.nanoClock = nanoClock;
  }

  /** Sends to the next stage, or back; does not wait. */
  void send(Direction direction, long step, int microBatch, FloatBuffer values) {
    long begun = nanoClock.getAsLong();
    int to = direction == Direction.FORWARD ? rank + 1 : rank - 1;
    int length = values.remaining();
    for (int piece = 0; piece * (long) pieceElements < length; piece++) {
      int first = piece * pieceElements;
      FloatBuffer part =
          values.slice(values.position() + first, Math.min(pieceElements, length - first));
      line.send(to, StageFrames.tag(step, direction, microBatch, piece), Tensor.copyOf(type, part));
    }
    movedNanos += nanoClock.getAsLong() - begun;
  }

  /** Waits for what the stage before sends forward, or the next one back. */
  float[] receive(Direction direction, long step, int microBatch, int length) {
    int from = direction == Direction.FORWARD ? rank - 1 : rank + 1;
    float[] values = new float[length];
    for (int piece = 0; piece * (long) pieceElements < length; piece++) {
      long begun = nanoClock.getAsLong();
      TensorView tensor = line.receive(from, StageFrames.tag(step, direction, microBatch, piece));
      long arrived = nanoClock.getAsLong();
      int first = piece * pieceElements;
      int expected = Math.min(pieceElements, length - first);
      if (tensor.length() != expected) {
        throw new ExchangeException(
            "%s: piece %d of micro-batch %d of step %d from %s has %d elements, expected %d"
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
      movedNanos += nanoClock.getAsLong() - arrived;
    }
    return values;
  }

  /** Time spent waiting for others so far: the bubble, and what is on its way. */
  long waitedNanos() {
    return waitedNanos;
  }

  /** Time spent on making, sending and unpacking tensors so far. */
  long movedNanos() {
    return movedNanos;
  }
}
