package io.vertigrad.codecs;

import java.util.Objects;

/**
 * A piece of one partition's state that a parameter server sends to its backup. It takes effect
 * with the next {@link ReplicaCommit} of that partition.
 *
 * @param id the server: its shard ({@code worker}) and incarnation, the number of the record
 *     ({@code step}) and the partition
 * @param layout hash of the parameter layout
 * @param version version of the partition that the piece belongs to; for a gradient, the version
 *     before it
 * @param part kind of state that the piece holds
 * @param firstElement index of the piece's first element in that part of the partition, from 0
 * @param tensor the piece; at most one frame
 */
public record ReplicaTensor(
    ExchangeId id, long layout, long version, Part part, long firstElement, TensorView tensor)
    implements Frame {

  /** The kind of state that a piece holds. */
  public enum Part implements Coded {
    /** A reduced, scaled gradient with which the optimizer takes one step. */
    GRADIENT(1),
    /** The parameters. */
    PARAMETERS(2),
    /** The optimizer's state. */
    STATE(3);

    private final byte code;

    Part(int code) {
      this.code = (byte) code;
    }

    /** Returns the code that is written into the frame. */
    @Override
    public byte code() {
      return code;
    }
  }

  /** Checks that a frame can carry the numbers. */
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
