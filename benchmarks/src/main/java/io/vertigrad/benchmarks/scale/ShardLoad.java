package io.vertigrad.benchmarks.scale;

import com.sun.management.ThreadMXBean;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.json.JsonObject;
import java.lang.management.ManagementFactory;

/** Measures what a shard of {@code sync} spends on one gradient of one partition. */
final class ShardLoad {

  private static final int LEAST_GRADIENTS = 2_000;
  private static final double NANOS_PER_MICRO = 1e3;
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private ShardLoad() {}

  /**
   * Runs whole rounds of one partition, with gradients in rank order.
   *
   * @param workers number of workers
   * @param elements length of the partition
   * @return microseconds of processor time for each gradient: filter, sum, step and answer
   */
  static double microsPerGradient(int workers, int elements) {
    int rounds = 1 + LEAST_GRADIENTS / workers;
    JsonObject sync = new JsonObject().put("name", "sync");
    // A model of one partition would be cut into quarters; the first of these is used.
    TestJob job = new TestJob(sync, 4 * elements, 0, rounds + 2, workers, elements, 1);
    TestShard shard = job.shard();
    shard.membershipChanged(TestJob.workers(workers));
    float[] values = new float[elements];
    round(job, shard, workers, 0, values);
    long nanos = 0;
    for (int round = 1; round <= rounds; round++) {
      nanos += round(job, shard, workers, round, values);
    }
    Frame last = shard.handle(job.gradient(0, rounds, 0, rounds, values)).result();
    if (!(last instanceof ParameterPartition answer) || answer.version() != rounds + 1) {
      throw new IllegalStateException(
          "%s rounds of %s workers ended with %s".formatted(rounds + 1, workers, last));
    }
    return nanos / NANOS_PER_MICRO / rounds / workers;
  }

  private static long round(TestJob job, TestShard shard, int workers, int round, float[] values) {
    long nanos = 0;
    for (int rank = 0; rank < workers; rank++) {
      GradientPartition gradient = job.gradient(rank, round, 0, round, values);
      long before = THREADS.getCurrentThreadCpuTime();
      shard.handle(gradient);
      nanos += THREADS.getCurrentThreadCpuTime() - before;
    }
    return nanos;
  }
}
