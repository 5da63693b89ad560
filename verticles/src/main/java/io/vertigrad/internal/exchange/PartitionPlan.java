package io.vertigrad.internal.exchange;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import java.util.ArrayList;
import java.util.List;

/**
 * How a layout is cut into partitions, and which shard owns which; every member derives the same.
 *
 * <p>Partitions go to shards in contiguous runs of nearly equal element counts.
 *
 * @param layout hash of the layout this was made for
 * @param partitions all partitions, by index
 */
public record PartitionPlan(long layout, List<Partition> partitions) {

  private static final int LEAST_PARTITIONS = 4;

  /** With overlap the front partition travels when nothing is left to hide it behind. */
  private static final int OVERLAPPED_PARTITIONS = 16;

  private static final int WORTH_OVERLAPPING = 14_304;

  /** Elements; of 270,000 parameters, partitions of half as many were slower again. */
  private static final int WORTH_A_FRAME = 28_608;

  /** Copies the partitions. */
  public PartitionPlan {
    partitions = List.copyOf(partitions);
  }

  /**
   * Cuts a layout into partitions of at most {@code elements}, spread over {@code shards}.
   *
   * <p>While one partition is applied the next one travels, so there are four at least, unless that
   * would make them so small that each costs more than it saves.
   *
   * @param layout of the exchange vector
   * @param elements most elements of a partition
   * @param shards how many servers there are
   * @return the plan
   */
  public static PartitionPlan of(ParameterLayout layout, int elements, int shards) {
    int quarter = (layout.trainable() + LEAST_PARTITIONS - 1) / LEAST_PARTITIONS;
    int most = Math.min(elements, Math.max(WORTH_A_FRAME, quarter));
    List<Partition> cut = new ArrayList<>();
    cut(cut, 0, layout.trainable(), most, Block.Kind.TRAINABLE, 0);
    cut(cut, layout.trainable(), layout.statistics(), most, Block.Kind.STATISTIC, 0);
    List<Partition> assigned = new ArrayList<>();
    for (Partition p : cut) {
      long middle = p.first() + p.length() / 2;
      int shard = (int) (middle * shards / layout.length());
      assigned.add(new Partition(p.index(), p.first(), p.length(), p.kind(), shard));
    }
    return new PartitionPlan(layout.hash(), assigned);
  }

  /**
   * How a job cuts this layout.
   *
   * @param job the job file
   * @param layout of the job's model
   * @return the plan
   */
  public static PartitionPlan of(JobConfig job, ParameterLayout layout) {
    int elements = job.exchange().partitionElements();
    int overlapped = Math.max(WORTH_OVERLAPPING, layout.trainable() / OVERLAPPED_PARTITIONS);
    return of(
        layout,
        job.exchange().overlap() ? Math.min(elements, overlapped) : elements,
        job.servers().count());
  }

  /**
   * Cuts a layout so that no partition is of two stages; the shard of a partition is its stage.
   *
   * @param layout of the exchange vector
   * @param stages arrays of each stage, in order
   * @param elements most elements of a partition
   * @return the plan, one shard for each stage
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
   * The partitions of one shard, by index; may be empty when there are more shards than cuts.
   *
   * @param shard from 0
   * @return its partitions
   */
  public List<Partition> ofShard(int shard) {
    return partitions.stream().filter(partition -> partition.shard() == shard).toList();
  }

  private static void cut(
      List<Partition> cut, int from, int length, int most, Block.Kind kind, int shard) {
    for (int first = from; first < from + length; first += most) {
      int size = Math.min(most, from + length - first);
      cut.add(new Partition(cut.size(), first, size, kind, shard));
    }
  }
}
