package io.vertigrad.internal.pipeline;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.StageTensor;
import io.vertigrad.codecs.StageTensor.Direction;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.peer.PeerFrames;
import io.vertigrad.job.PipelineConfig;
import io.vertigrad.strategy.Tag;
import java.util.Optional;

/** The frames between stages: pieces of activations and gradients, as {@link StageTensor}. */
final class StageFrames implements PeerFrames {

  private static final String ROLE = "stage";

  private final PipelineConfig pipeline;
  private final int pieceElements;

  StageFrames(PipelineConfig pipeline, int pieceElements) {
    this.pipeline = pipeline;
    this.pieceElements = pieceElements;
  }

  /** Returns the tag of one piece of a micro-batch's values. */
  static Tag tag(long step, Direction direction, int microBatch, int piece) {
    return new Tag(step, 2 * microBatch + direction.ordinal(), piece);
  }

  @Override
  public String address(Addresses addresses, int rank, int incarnation) {
    return addresses.member(ROLE, rank, incarnation);
  }

  @Override
  public Frame frame(ExchangeId id, long plan, Tag tag, TensorView tensor) {
    return new StageTensor(
        id,
        plan,
        StageTensor.directionOf(tag.phase()),
        StageTensor.microBatchOf(tag.phase()),
        (long) tag.piece() * pieceElements,
        tensor);
  }

  @Override
  public Optional<Opened> open(Frame frame) {
    return frame instanceof StageTensor piece
        ? Optional.of(
            new Opened(
                piece.id(),
                piece.plan(),
                new Tag(piece.id().step(), piece.phase(), piece.id().partition()),
                piece.tensor()))
        : Optional.empty();
  }

  @Override
  public String name(int rank) {
    return pipeline.name(rank);
  }

  @Override
  public String describe(Tag tag) {
    boolean forward = StageTensor.directionOf(tag.phase()) == Direction.FORWARD;
    int index = StageTensor.microBatchOf(tag.phase());
    int test = index - pipeline.microBatches();
    if (test >= 0) {
      return "test after step %s, batch %s, %s"
          .formatted(tag.round(), test, forward ? "its activations" : "that they were taken");
    }
    return "step %s, micro-batch %s, %s"
        .formatted(
            tag.round(), index, forward ? "its activations" : "the gradient of its activations");
  }
}
