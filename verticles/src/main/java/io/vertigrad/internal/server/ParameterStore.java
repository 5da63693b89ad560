package io.vertigrad.internal.server;

import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.WritePace;
import io.vertigrad.job.Partition;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;

/**
 * One shard's parameters with their optimizer state; plain memory, owned by one thread.
 *
 * <p>Takes one float32 array per partition, the optimizer's state, and one tensor of the newest
 * version and of the one before: O(parameters), whatever the number of workers. Memory of older
 * versions is written again once the workers have given it back.
 */
public final class ParameterStore {

  /** Versions that are current, previous, with their readers, and being made. */
  private static final int LIVE_VERSIONS = 4;

  /** A socket sends what lies outside the heap without a copy, which pays for small models. */
  private static final long MOST_BYTES_OUTSIDE_HEAP = 64 << 20;

  private final StoreConfig config;
  private final List<StoredPartition> partitions = new ArrayList<>();
  private final TensorMemory answers;

  /** Copies the shard's part of the initial parameters. */
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

  /** The shard it owns. */
  public int shard() {
    return config.shard();
  }

  /** Hash of the layout. */
  public long layout() {
    return config.plan().layout();
  }

  /**
   * Sees to the memory that a checkpoint's copy takes, so that the first one need not wait for it:
   * of the optimizer's state, and of one more version of the parameters. Any thread.
   *
   * @param memory what copies are made in
   * @param pace how fast
   * @throws InterruptedIOException when the thread is interrupted
   */
  void reserveCopy(CopyMemory memory, WritePace pace) throws InterruptedIOException {
    List<Integer> copied = new ArrayList<>();
    pace.begin();
    for (StoredPartition partition : partitions) {
      if (partition.lendsParameters()) {
        int bytes = partition.length() * Float.BYTES;
        pace.writing(bytes);
        answers.reserve(bytes);
      } else {
        copied.add(partition.length());
      }
      copied.add(partition.stateLength());
    }
    memory.reserve(copied, pace);
  }

  /** Elements it owns. */
  public long length() {
    return partitions.stream().mapToLong(StoredPartition::length).sum();
  }

  /** By index; empty when there are more shards than partitions. */
  List<StoredPartition> partitions() {
    return partitions;
  }
}
