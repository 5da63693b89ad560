package io.vertigrad.internal.shard;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.events.Scalars;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.checkpoint.WritePace;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.Partition;
import java.io.InterruptedIOException;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * One shard's parameters with their optimizer state; plain memory, owned by one thread.
 *
 * <p>Holds one float32 array per partition, the optimizer's state, and one tensor each of the
 * newest version and the one before: O(parameters), whatever the number of workers. Memory of older
 * versions is reused once the workers have given it back.
 */
public final class ParameterStore {

  /** Versions alive at once: current, previous, one that readers still hold, and one being made. */
  private static final int LIVE_VERSIONS = 4;

  /** A socket sends memory outside the heap without a copy, which pays for small models. */
  private static final long MOST_BYTES_OUTSIDE_HEAP = 64 << 20;

  private final StoreConfig config;
  private final List<StoredPartition> partitions = new ArrayList<>();
  private final TensorMemory answers;

  /** Creates a store with a copy of the shard's part of the initial parameters. */
  public ParameterStore(StoreConfig config, ParameterSource initial) {
    this.config = config;
    List<Partition> owned = config.plan().ofShard(config.shard());
    long bytes = owned.stream().mapToLong(Partition::length).sum() * config.type().bytes();
    answers =
        TensorMemory.outsideHeapUpTo(Math.min(MOST_BYTES_OUTSIDE_HEAP, LIVE_VERSIONS * bytes));
    for (Partition partition : owned) {
      partitions.add(new StoredPartition(partition, config, initial, answers));
    }
  }

  /** Records each update on this track from now on. */
  public void recordOn(SpanRecorder recorder) {
    partitions.forEach(partition -> partition.recordOn(recorder));
  }

  /** Publishes the scalars of the strategy from now on. */
  public void reportTo(Scalars scalars) {
    partitions.forEach(partition -> partition.reportTo(scalars));
  }

  /** Returns the shard that this store owns. */
  public int shard() {
    return config.shard();
  }

  /** Returns the partitions of the whole job. */
  PartitionPlan plan() {
    return config.plan();
  }

  /** Returns the hash of the layout. */
  public long layout() {
    return config.plan().layout();
  }

  /**
   * Allocates the memory for a checkpoint's copy, so that the first checkpoint need not wait for
   * it: for the optimizer's state and one more version of the parameters. May be called from any
   * thread.
   *
   * @param memory pool for copies
   * @param pace limits how fast memory is touched
   * @throws InterruptedIOException when the thread is interrupted
   */
  void reserveCopy(CopyMemory memory, WritePace pace) throws InterruptedIOException {
    List<Integer> copied = new ArrayList<>();
    pace.begin();
    for (StoredPartition partition : partitions) {
      for (SavedState.Part part : partition.parts()) {
        if (part.name().equals(SavedState.PARAMETERS) && partition.lendsParameters()) {
          int bytes = part.length() * Float.BYTES;
          pace.writing(bytes);
          answers.reserve(bytes);
        } else if (part.length() > 0) {
          copied.add(part.length());
        }
      }
    }
    memory.reserve(copied, pace);
  }

  /** Returns the number of elements that this store owns. */
  public long length() {
    return partitions.stream().mapToLong(StoredPartition::length).sum();
  }

  /** Returns the partitions by index; empty when there are more shards than partitions. */
  public List<StoredPartition> partitions() {
    return partitions;
  }

  /**
   * The settings of one shard's store.
   *
   * @param plan partitions and their shards
   * @param shard the shard that the store owns
   * @param optimizer settings of the optimizer
   * @param engine creates the update rules
   * @param trainingSamples size of the training set, which is one epoch
   * @param type element type of parameters in frames; they are always stored as float32
   */
  public record StoreConfig(
      PartitionPlan plan,
      int shard,
      OptimizerConfig optimizer,
      Engine engine,
      long trainingSamples,
      DataType type) {

    public StoreConfig {
      if (shard < 0 || trainingSamples < 1) {
        throw new IllegalArgumentException(
            "shard %s, %s training samples: expected at least 0 and 1"
                .formatted(shard, trainingSamples));
      }
    }
  }

  /** A source of initial parameters, for example {@code model::readParameters}. */
  @FunctionalInterface
  public interface ParameterSource {

    /** Fills the buffer with elements {@code [first, first + destination.remaining())}. */
    void read(int first, FloatBuffer destination);

    /**
     * Returns a source that reads the whole exchange vector from one buffer, from position 0 on.
     */
    static ParameterSource of(FloatBuffer vector) {
      return (first, destination) ->
          destination.put(
              vector.duplicate().position(first).limit(first + destination.remaining()));
    }
  }
}
