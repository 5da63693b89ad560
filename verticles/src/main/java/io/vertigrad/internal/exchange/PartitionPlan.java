package io.vertigrad.internal.exchange;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The division of a layout into partitions, and the shard that owns each. Every member computes the
 * same plan.
 *
 * <p>Partitions go to shards in contiguous runs of nearly equal element counts.
 *
 * @param layout hash of the layout that this plan is for
 * @param partitions all partitions, by index
 */
public record PartitionPlan(long layout, List<Partition> partitions) {

  private static final int MIN_PARTITIONS = 4;

  /** With overlap, nothing hides the time to send the front partition, so it must be small. */
  private static final int OVERLAPPED_PARTITIONS = 16;

  private static final int MIN_OVERLAPPED_ELEMENTS = 14_304;

  /** In elements; with 270,000 parameters, partitions of half this size were slower. */
  private static final int MIN_ELEMENTS = 28_608;

  /** Copies the partitions. */
  public PartitionPlan {
    partitions = List.copyOf(partitions);
  }

  /**
   * Divides a layout into partitions of at most {@code elements}, spread over {@code shards}.
   *
   * <p>The next partition is sent while one is applied, so there are at least four. There are fewer
   * if four would be so small that each costs more than it saves.
   *
   * @param layout layout of the exchange vector
   * @param elements largest number of elements of a partition
   * @param shards number of servers
   * @return the plan
   */
  public static PartitionPlan of(ParameterLayout layout, int elements, int shards) {
    int quarter = (layout.trainable() + MIN_PARTITIONS - 1) / MIN_PARTITIONS;
    int maxElements = Math.min(elements, Math.max(MIN_ELEMENTS, quarter));
    List<Partition> cut = new ArrayList<>();
    cut(cut, 0, layout.trainable(), maxElements, Block.Kind.TRAINABLE, 0);
    cut(cut, layout.trainable(), layout.statistics(), maxElements, Block.Kind.STATISTIC, 0);
    List<Partition> assigned = new ArrayList<>();
    for (Partition p : cut) {
      long middle = p.first() + p.length() / 2;
      int shard = (int) (middle * shards / layout.length());
      assigned.add(new Partition(p.index(), p.first(), p.length(), p.kind(), shard));
    }
    return new PartitionPlan(layout.hash(), assigned);
  }

  /**
   * Returns a job's plan for this layout.
   *
   * @param job the job file
   * @param layout layout of the job's model
   * @return the plan
   */
  public static PartitionPlan of(JobConfig job, ParameterLayout layout) {
    int elements = job.exchange().partitionElements();
    int overlapped = Math.max(MIN_OVERLAPPED_ELEMENTS, layout.trainable() / OVERLAPPED_PARTITIONS);
    return of(
        layout,
        job.exchange().overlap() ? Math.min(elements, overlapped) : elements,
        job.servers().count());
  }

  /**
   * Divides a layout so that no partition spans two stages. The shard of a partition is its stage.
   *
   * @param layout layout of the exchange vector
   * @param stages layout of each stage, in order
   * @param elements largest number of elements of a partition
   * @return the plan, with one shard per stage
   */
  public static PartitionPlan ofStages(
      ParameterLayout layout, List<ParameterLayout> stages, int elements) {
    List<Partition> cut = new ArrayList<>();
    int trainable = 0;
    for (int stage = 0; stage < stages.size(); stage++) {
      int length = stages.get(stage).trainable();
      cut(cut, trainable, length, elements, Block.Kind.TRAINABLE, stage);
      trainable += length;
    }
    int statistics = trainable;
    for (int stage = 0; stage < stages.size(); stage++) {
      int length = stages.get(stage).statistics();
      cut(cut, statistics, length, elements, Block.Kind.STATISTIC, stage);
      statistics += length;
    }
    return new PartitionPlan(layout.hash(), cut);
  }

  /**
   * Returns the partitions of one shard, by index. Empty if there are more shards than partitions.
   *
   * @param shard from 0
   * @return its partitions
   */
  public List<Partition> ofShard(int shard) {
    return partitions.stream().filter(partition -> partition.shard() == shard).toList();
  }

  private static void cut(
      List<Partition> cut, int from, int length, int maxElements, Block.Kind kind, int shard) {
    for (int first = from; first < from + length; first += maxElements) {
      int size = Math.min(maxElements, from + length - first);
      cut.add(new Partition(cut.size(), first, size, kind, shard));
    }
  }

  /** The version of each partition that a model holds. Belongs to the model's thread. */
  public static final class PartitionVersions {

    private final List<Partition> byIndex;
    private final long[] versions;

    /** Creates versions of 0 for all partitions. */
    public PartitionVersions(PartitionPlan plan) {
      byIndex = plan.partitions();
      versions = new long[byIndex.size()];
    }

    public long of(Partition partition) {
      return versions[partition.index()];
    }

    public void set(Partition partition, long version) {
      versions[partition.index()] = version;
    }

    public long lowest() {
      long lowest = Long.MAX_VALUE;
      for (long version : versions) {
        lowest = Math.min(lowest, version);
      }
      return lowest;
    }

    public long highest() {
      long highest = 0;
      for (long version : versions) {
        highest = Math.max(highest, version);
      }
      return highest;
    }

    /**
     * Returns all partitions in the order in which workers send them: oldest version first, then by
     * index.
     *
     * <p>Otherwise, if versions differ, a newer round could fill the worker's window. All other
     * workers would then wait for its part of the older round.
     */
    public List<Partition> oldestFirst() {
      if (lowest() == highest()) {
        return byIndex;
      }
      return byIndex.stream()
          .sorted(Comparator.comparingLong(this::of).thenComparingInt(Partition::index))
          .toList();
    }
  }
}
