package io.vertigrad.internal.shard;

import io.vertigrad.compute.Block;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.PartitionSums;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.stream.Collectors;

/**
 * The sums over all trainable partitions of a job, at one shard. When its own partitions have added
 * their shares, it asks every other shard for the sum of theirs, and again at each tick until that
 * comes. The last few sums are kept for shards that have not received them. A plain object on the
 * shard's thread.
 *
 * <p>A sum of a shard stays as it was when it was whole: another shard may have it already.
 */
public final class ShardSums {

  /** Two sums of the round before, and two of this one. */
  private static final int KEPT = 4;

  private final int shard;
  private final SortedSet<Integer> own = new TreeSet<>();
  private final SortedSet<Integer> others = new TreeSet<>();
  private final NavigableMap<Long, Sum> sums = new TreeMap<>();
  private final Map<Integer, String> failures = new HashMap<>();
  private BiFunction<Integer, Long, Future<double[]>> source;
  private Runnable summed;
  private long newest = -1;

  ShardSums(PartitionPlan plan, int shard, Runnable summed) {
    this.shard = shard;
    this.summed = summed;
    this.source = (other, number) -> Future.failedFuture("nobody connected it");
    for (Partition partition : plan.partitions()) {
      if (partition.kind() == Block.Kind.TRAINABLE && partition.shard() == shard) {
        own.add(partition.index());
      } else if (partition.kind() == Block.Kind.TRAINABLE) {
        others.add(partition.shard());
      }
    }
  }

  /**
   * Connects this shard with the others.
   *
   * @param from asks the shard of the first argument for its sum of the second one; completes on
   *     the shard's thread, or fails when there is no answer yet
   * @param after called after a sum has come that partitions may have waited for
   */
  public void connect(BiFunction<Integer, Long, Future<double[]>> from, Runnable after) {
    Runnable before = summed;
    source = from;
    summed =
        () -> {
          before.run();
          after.run();
        };
  }

  /** Returns the sum over this shard's partitions; fails if it is not known any more, or yet. */
  public Future<double[]> ofShard(long number) {
    boolean begun = sums.containsKey(number) || number > newest && number <= newest + KEPT;
    return begun
        ? sums.computeIfAbsent(number, Sum::new).whole.future()
        : Future.failedFuture("its newest sum is %s, not %s".formatted(newest, number));
  }

  /** Asks other shards again for what is missing. */
  void tick() {
    List.copyOf(sums.values()).forEach(Sum::ask);
  }

  /** Returns the sums as one partition uses them. */
  PartitionSums of(int partition) {
    return new PartitionSums() {
      @Override
      public Future<double[]> sum(long number, double[] share) {
        newest = Math.max(newest, number);
        sums.headMap(newest - KEPT, true).clear();
        return sums.computeIfAbsent(number, Sum::new).add(partition, share);
      }

      @Override
      public String missing() {
        return Optional.ofNullable(sums.get(newest)).map(Sum::missing).orElse("the strategy");
      }
    };
  }

  private static double[] added(Collection<double[]> shares) {
    double[] sum = new double[shares.stream().mapToInt(share -> share.length).max().orElse(0)];
    for (double[] share : shares) {
      for (int i = 0; i < share.length; i++) {
        sum[i] += share[i];
      }
    }
    return sum;
  }

  /** One sum. */
  private final class Sum {

    private final long number;
    private final SortedMap<Integer, double[]> shares = new TreeMap<>();
    private final SortedMap<Integer, double[]> byShard = new TreeMap<>();
    private final Set<Integer> asked = new HashSet<>();
    private final Promise<double[]> whole = Promise.promise();
    private final Promise<double[]> total = Promise.promise();

    Sum(long number) {
      this.number = number;
      if (own.isEmpty()) {
        byShard.put(shard, new double[0]);
      }
    }

    Future<double[]> add(int partition, double[] share) {
      if (own.contains(partition) && !byShard.containsKey(shard)) {
        shares.put(partition, share);
        if (shares.size() == own.size()) {
          double[] sum = added(shares.values());
          byShard.put(shard, sum);
          whole.complete(sum);
          completeIfWhole();
        }
      }
      ask();
      return total.future();
    }

    void ask() {
      if (!byShard.containsKey(shard)) {
        return;
      }
      for (int other : others) {
        if (!byShard.containsKey(other) && asked.add(other)) {
          source.apply(other, number).onComplete(sum -> take(other, sum), why -> fail(other, why));
        }
      }
    }

    private void take(int other, double[] sum) {
      asked.remove(other);
      if (byShard.putIfAbsent(other, sum) == null) {
        completeIfWhole();
      }
    }

    private void fail(int other, Throwable why) {
      asked.remove(other);
      failures.put(other, String.valueOf(why.getMessage()));
    }

    private void completeIfWhole() {
      if (byShard.size() == 1 + others.size() && total.tryComplete(added(byShard.values()))) {
        summed.run();
      }
    }

    String missing() {
      if (!byShard.containsKey(shard)) {
        Set<Integer> partitions = new TreeSet<>(own);
        partitions.removeAll(shares.keySet());
        return "partitions %s of shard %s".formatted(partitions, shard);
      }
      return others.stream()
          .filter(other -> !byShard.containsKey(other))
          .map(other -> "shard %s (%s)".formatted(other, failures.getOrDefault(other, "silent")))
          .collect(Collectors.joining(", "));
    }
  }
}
