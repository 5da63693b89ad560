package io.vertigrad.benchmarks.owndata;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.SharedTensor;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.internal.shard.ParameterStore;
import io.vertigrad.internal.shard.ParameterStore.ParameterSource;
import io.vertigrad.internal.shard.ParameterStore.StoreConfig;
import io.vertigrad.internal.shard.PartitionLedger;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.job.Partition;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;

/** Rounds of ten workers through a shard that holds all of a model of 2.5 million parameters. */
final class RobustRounds {

  static final int WORKERS = 10;
  static final int LIARS = 2;
  static final int PARAMETERS = 2_500_000;

  private static final int PARTITION_ELEMENTS = 114_432;
  private static final int SAMPLES = 32;
  private static final double RATE = 0.01;
  private static final long EPOCH_SAMPLES = 60_000;
  private static final double MILLIS = 1e-6;

  private final TestJob job;
  private final Shard shard;

  /** The payloads by worker and partition. */
  private final List<List<ByteBuffer>> updates = new ArrayList<>();

  private long round;

  /**
   * Prepares the workers' updates: a common direction and noise of each worker.
   *
   * @param strategy section of a job file
   * @param rounds most rounds
   */
  RobustRounds(JsonObject strategy, int rounds) {
    job = new TestJob(strategy, PARAMETERS, 0, rounds, WORKERS, PARTITION_ELEMENTS, 1);
    job.withRanks(WORKERS);
    shard = shard(job, new float[PARAMETERS], RATE, WORKERS).internal();
    for (int worker = 0; worker < WORKERS; worker++) {
      SplitMix64 common = new SplitMix64(1);
      SplitMix64 own = new SplitMix64(2, worker);
      List<ByteBuffer> parts = new ArrayList<>();
      for (Partition partition : job.plan.partitions()) {
        ByteBuffer values =
            ByteBuffer.allocateDirect(partition.length() * Float.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < partition.length(); i++) {
          values.putFloat((float) (1e-3 * (common.normal() + own.normal())));
        }
        parts.add(values.flip());
      }
      updates.add(parts);
    }
  }

  /**
   * Returns the shard that has all partitions of a job, as a server runs it.
   *
   * @param job of one shard
   * @param initial the parameters
   * @param rate of the server's plain SGD
   * @param workers number of workers, which are its members
   */
  static TestShard shard(TestJob job, float[] initial, double rate, int workers) {
    StoreConfig config =
        new StoreConfig(
            job.plan,
            0,
            OptimizerConfig.sgd(rate),
            Engine.named(Engine.USUAL),
            EPOCH_SAMPLES,
            DataType.FLOAT32);
    ParameterStore store =
        new ParameterStore(config, ParameterSource.of(FloatBuffer.wrap(initial.clone())));
    TestShard shard = job.shard(0, store, () -> new PartitionLedger(workers));
    shard.membershipChanged(TestJob.workers(workers));
    return shard;
  }

  static int partitions() {
    return (PARAMETERS + PARTITION_ELEMENTS - 1) / PARTITION_ELEMENTS;
  }

  /** Takes one round, and returns how long it took. */
  double millis() {
    List<GradientPartition> frames = new ArrayList<>();
    for (int worker = 0; worker < WORKERS; worker++) {
      for (Partition partition : job.plan.partitions()) {
        // A new tensor, because one that was checked remembers that it is finite.
        ByteBuffer payload = updates.get(worker).get(partition.index()).duplicate();
        frames.add(
            new GradientPartition(
                new ExchangeId(TestJob.JOB, worker, 0, 1, round, partition.index()),
                job.layout().hash(),
                round,
                SAMPLES,
                partition.first(),
                Tensor.wrap(DataType.FLOAT32, payload.order(ByteOrder.LITTLE_ENDIAN))));
      }
    }
    List<Future<Frame>> answers = new ArrayList<>();
    long begun = System.nanoTime();
    frames.forEach(frame -> answers.add(shard.handle(frame)));
    answers.forEach(answer -> giveBack(answer.result()));
    double taken = (System.nanoTime() - begun) * MILLIS;
    round++;
    return taken;
  }

  private static void giveBack(Frame answer) {
    if (answer instanceof ParameterPartition next && next.outcome() == Outcome.APPLIED) {
      SharedTensor.giveBack(next.parameters());
      return;
    }
    throw new IllegalStateException("expected an applied round, found " + answer);
  }
}
