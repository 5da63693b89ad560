package io.vertigrad.benchmarks.allreduce;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.collective.AllReduce;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.peer.PeerFrames;
import io.vertigrad.internal.peer.WorkerPeers;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Replica;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** One worker of Vertigrad's all-reduce, without a model; belongs to one thread. */
final class BusMember {

  private static final long OPEN_SECONDS = 30;

  private final AllReduceCase sum;
  private final int rank;
  private final JobConfig job;
  private final WorkerPeers peers;

  BusMember(Vertx vertx, AllReduceCase sum, int rank) {
    this.sum = sum;
    this.rank = rank;
    this.job =
        JobConfig.read(
            "all-reduce benchmark",
            new JsonObject()
                .put("job", sum.name())
                .put("exchange", new JsonObject().put("transport", sum.transport())));
    SenderIdentity identity = new SenderIdentity(job.addresses().jobHash(), rank, 0);
    this.peers =
        new WorkerPeers(
            vertx,
            job,
            sum.elements(),
            identity,
            System::nanoTime,
            SpanRecorder.OFF,
            () -> false,
            PeerFrames.ofStrategies());
  }

  /** Runs all rounds; returns the milliseconds of each counted one. */
  double[] work() throws Exception {
    peers.open().await(OPEN_SECONDS, TimeUnit.SECONDS);
    List<Member> all =
        IntStream.range(0, sum.workers()).mapToObj(one -> new Member(one, 0, 0)).toList();
    peers.membershipChanged(new Membership(1, all, List.of()));
    AllReduce reduction = reduction(peers.adopt());
    float[] vector = new float[sum.elements()];
    check(reduction, vector);
    double[] millis = new double[sum.rounds()];
    for (int round = -sum.warmRounds(); round < sum.rounds(); round++) {
      long begun = System.nanoTime();
      reduction.sum(1 + sum.warmRounds() + round, vector);
      if (round >= 0) {
        millis[round] = (System.nanoTime() - begun) / 1e6;
      }
    }
    return millis;
  }

  /** Stops listening. Call it only after every worker has received this one's data. */
  void close() throws Exception {
    peers.close().await(OPEN_SECONDS, TimeUnit.SECONDS);
  }

  private AllReduce reduction(PeerGroup group) {
    PeerContext context =
        new PeerContext(
            peers,
            new Replica(new float[0], 0, 1),
            config -> null,
            OptimizerConfig.sgd(0.1),
            sum.workers(),
            1,
            DataType.FLOAT32,
            Compression.NONE,
            job.exchange().partitionElements(),
            System::nanoTime);
    return AllReduce.of(context, group, sum.elements(), sum.direct() ? Long.MAX_VALUE : 0);
  }

  /**
   * Checks the first sum, in which every worker adds its rank plus 1; then sets the vector to zero.
   */
  private void check(AllReduce reduction, float[] vector) {
    Arrays.fill(vector, rank + 1);
    reduction.sum(0, vector);
    float expected = sum.workers() * (sum.workers() + 1) / 2f;
    for (float found : vector) {
      if (found != expected) {
        throw new IllegalStateException(
            "worker %s: found a sum of %s, expected %s".formatted(rank, found, expected));
      }
    }
    Arrays.fill(vector, 0);
  }
}
