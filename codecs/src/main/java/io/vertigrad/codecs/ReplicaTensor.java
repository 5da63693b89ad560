package io.vertigrad.codecs;

import java.util.Objects;

/**
 * A piece of one partition's state on its way from a parameter server to its backup. It takes
 * effect with the {@link ReplicaCommit} of that partition that follows it.
 *
 * @param id the server: its shard ({@code worker}) and incarnation, the number of the record
 *     ({@code step}) and the partition
 * @param layout hash of the parameter layout
 * @param version of the partition that the piece belongs to; of a gradient, the version before it
 * @param part what the piece is
 * @param firstElement where the piece begins in that part of the partition, from 0
 * @param tensor the piece; at most one frame
 */
public record ReplicaTensor(
    ExchangeId id, long layout, long version, Part part, long firstElement, TensorView tensor)
    implements Frame {

  /** What of a partition a piece is. */
  public enum Part implements Coded {
    /** A reduced gradient, scaled, that the optimizer takes one step with. */
    GRADIENT(1),
    /** The parameters themselves. */
    PARAMETERS(2),
    /** The optimizer's state. */
    STATE(3);

    private final byte code;

    Part(int code) {
      this.code = (byte) code;
    }

    /** The code written into the frame. */
    @Override
    public byte code() {
      return code;
    }
  }

  /** Refuses numbers that no frame can carry. */
  public ReplicaTensor {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(part, "part");
    FrameLimits.requireAtLeast("version", version, 0);
    FrameLimits.requireAtLeast("firstElement", firstElement, 0);
    FrameLimits.requireFits("tensor", tensor);
  }

  @Override
  public ReplicaTensor retain() {
    return tensor instanceof BorrowedTensor
        ? new ReplicaTensor(id, layout, version, part, firstElement, tensor.retain())
        : this;
  }
}
