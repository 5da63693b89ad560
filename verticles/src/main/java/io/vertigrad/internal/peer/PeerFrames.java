package io.vertigrad.internal.peer;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Tag;
import java.util.Optional;

/** The frame type, the addresses and the message texts for tagged tensors between workers. */
public interface PeerFrames {

  /** The contents of a frame. */
  record Opened(ExchangeId id, long layout, Tag tag, TensorView tensor) {}

  /** Returns the frames that the strategies of workers send. */
  static PeerFrames ofStrategies() {
    return new WorkerFrames();
  }

  /** Returns the address at which a worker listens. */
  String address(Addresses addresses, int rank, int incarnation);

  Frame frame(ExchangeId id, long layout, Tag tag, TensorView tensor);

  /** Returns the contents of a frame; empty for a frame of another kind. */
  Optional<Opened> open(Frame frame);

  /** Returns a worker's name for messages. */
  String name(int rank);

  /** Returns a description of an expected message. */
  String describe(Tag tag);

  /** The frames of a worker's strategy: pieces of vectors, sent as {@link PeerPartition}. */
  static final class WorkerFrames implements PeerFrames {

    private static final String ROLE = "peer";

    @Override
    public String address(Addresses addresses, int rank, int incarnation) {
      return addresses.member(ROLE, rank, incarnation);
    }

    @Override
    public Frame frame(ExchangeId id, long layout, Tag tag, TensorView tensor) {
      return new PeerPartition(id, layout, tag.phase(), tensor);
    }

    @Override
    public Optional<Opened> open(Frame frame) {
      return frame instanceof PeerPartition piece
          ? Optional.of(
              new Opened(
                  piece.id(),
                  piece.layout(),
                  new Tag(piece.id().step(), piece.phase(), piece.id().partition()),
                  piece.tensor()))
          : Optional.empty();
    }

    @Override
    public String name(int rank) {
      return "worker " + rank;
    }

    @Override
    public String describe(Tag tag) {
      return "round %s, phase %s, piece %s".formatted(tag.round(), tag.phase(), tag.piece());
    }
  }
}
