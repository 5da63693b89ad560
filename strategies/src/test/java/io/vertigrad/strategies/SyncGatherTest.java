package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.StragglerReport;
import io.vertigrad.testkit.StrategyContract;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SyncGatherTest extends StrategyContract {

  private static final String SUM = "{\"name\": \"sync\", \"reduction\": \"sum\"}";

  @Override
  protected String settings() {
    return "{\"name\": \"sync\", \"reduction\": \"mean\"}";
  }

  @Test
  void shouldReleaseAllWorkersWhenLastGradientArrives() {
    TestJob job = job(3);
    TestShard shard = started(job, 3);

    Future<Frame> last = shard.handle(job.gradient(2, 0, 0, 0, 3, 3, 3, 3));
    Future<Frame> first = shard.handle(job.gradient(0, 0, 0, 0, 0, 3, 6, 9));
    assertFalse(first.isComplete() || last.isComplete());
    Future<Frame> middle = shard.handle(job.gradient(1, 0, 0, 0, 0, 0, 0, 0));

    assertTrue(first.succeeded() && middle.succeeded() && last.succeeded());
    ParameterPartition answer = (ParameterPartition) first.result();
    assertEquals(1, answer.version());
    float[] expected = {-0.1f, 0.125f - 0.2f, 0.25f - 0.3f, 0.375f - 0.4f};
    assertArrayEquals(expected, TestJob.values(answer), 1e-6f);
  }

  @Test
  void shouldReportTheMissingGradientWhileOthersWait() {
    TestJob job = job(3);
    TestShard shard = started(job, 3);
    assertEquals(Optional.empty(), shard.heldUp());

    shard.handle(job.gradient(1, 0, 0, 0, 0, 3, 6, 9));
    assertEquals(Optional.of(StragglerReport.of(0, 0, List.of(2, 0))), shard.heldUp());
    shard.handle(job.gradient(0, 0, 0, 0, 0, 0, 0, 0));
    shard.handle(job.gradient(2, 0, 0, 0, 0, 0, 0, 0));

    assertEquals(Optional.empty(), shard.heldUp());
  }

  @Test
  void shouldSumWhenTheReductionIsSum() {
    TestJob job = new TestJob(SUM, 4, 2, 5, 2);
    TestShard shard = started(job, 2);
    shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    shard.handle(job.gradient(1, 0, 0, 0, 2, 2, 2, 2));

    float[] expected = {-0.3f, 0.125f - 0.3f, 0.25f - 0.3f, 0.375f - 0.3f};
    assertArrayEquals(expected, job.parameters(shard, 0), 1e-6f);
  }

  @Test
  void shouldAverageStatisticsWhenTheReductionIsSum() {
    TestJob job = new TestJob(SUM, 4, 2, 5, 2);
    TestShard shard = started(job, 2);
    shard.handle(job.gradient(0, 0, 1, 0, 0.25f, 0));
    shard.handle(job.gradient(1, 0, 1, 0, 0.5f, 0.125f));

    assertArrayEquals(new float[] {0.125f, 0.5625f}, job.parameters(shard, 1));
  }

  @Test
  void shouldWeighBySamplesWhenTheReductionIsMean() {
    TestJob job = job(2);
    TestShard shard = started(job, 2);
    shard.handle(job.gradient(id(0, 0, 0), 0, 30, 4, 0, 0, 0));
    shard.handle(job.gradient(id(1, 0, 0), 0, 10, 0, 4, 0, 0));

    assertArrayEquals(
        new float[] {-0.3f, 0.125f - 0.1f, 0.25f, 0.375f}, job.parameters(shard, 0), 1e-6f);
  }

  /** Returns gradients of random size whose float32 sum depends on the order. */
  @ParameterizedTest
  @ValueSource(strings = {"sum", "mean"})
  void shouldReturnTheSameBitsInAnyOrderOfArrival(String reduction) {
    List<Integer> ranks = new ArrayList<>(IntStream.range(0, 5).boxed().toList());
    float[] expected = afterOneRound(reduction, ranks);
    Random random = new Random(3);

    for (int order = 0; order < 200; order++) {
      Collections.shuffle(ranks, random);
      assertArrayEquals(expected, afterOneRound(reduction, ranks), "order " + ranks);
    }
  }

  @Test
  void shouldNameTheMissingAndTakeTheRetryWhenTheDeadlinePasses() {
    TestJob job = job(3);
    TestShard shard = started(job, 3);
    Future<Frame> early = shard.handle(job.gradient(1, 0, 0, 0, 1, 1, 1, 1));

    job.clock.advanceMillis(Barrier.DEADLINE_MILLIS);
    shard.tick(job.clock.getAsLong());
    Future<Frame> retry = shard.handle(job.gradient(1, 0, 0, 0, 1, 1, 1, 1));
    shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    shard.handle(job.gradient(2, 0, 0, 0, 1, 1, 1, 1));

    assertEquals(
        "sync: partition 0, round 0: no gradient from worker 0 (incarnation 0), worker 2"
            + " (incarnation 0) within 50000 ms; 1 that arrived were dropped; see what holds it"
            + " up, or raise strategy.deadlineMillis",
        ((Refusal) early.result()).message());
    assertEquals(Outcome.APPLIED, ((ParameterPartition) retry.result()).outcome());
    assertArrayEquals(
        new float[] {-0.1f, 0.125f - 0.1f, 0.25f - 0.1f, 0.375f - 0.1f},
        job.parameters(shard, 0),
        1e-6f);
  }

  /**
   * Compares least squares with 4 workers, whose batches differ in size with {@code mean}, with one
   * machine that has all 32 samples, in double precision.
   */
  @ParameterizedTest
  @CsvSource({"sum, 8 8 8 8", "mean, 8 8 8 8", "mean, 10 10 9 3", "mean, 1 1 29 1"})
  void shouldEqualOneMachineWithTheWholeBatch(String reduction, String shares) {
    int[] batches = Stream.of(shares.split(" ")).mapToInt(Integer::parseInt).toArray();
    int workers = 4;
    TestJob job =
        new TestJob(
            "{\"name\": \"sync\", \"reduction\": \"%s\"}".formatted(reduction), 4, 0, 20, workers);
    TestShard shard = started(job, workers);
    LeastSquares data = new LeastSquares(new Random(5), 4, 32);
    double[] expected = {0, 0.125, 0.25, 0.375};
    double factor = reduction.equals("sum") ? workers : 1;

    for (int step = 0; step < 20; step++) {
      double[] whole = data.gradient(expected, 0, 32);
      for (int i = 0; i < 4; i++) {
        expected[i] -= (double) TestJob.LEARNING_RATE * factor * whole[i];
      }
      double[] now = widen(job.parameters(shard, 0));
      int first = 0;
      for (int w = 0; w < workers; w++) {
        float[] part = narrow(data.gradient(now, first, batches[w]));
        shard.handle(job.gradient(id(w, step, 0), step, batches[w], part));
        first += batches[w];
      }
    }

    assertArrayEquals(expected, widen(job.parameters(shard, 0)), 1e-5, "absolute, values near 1");
  }

  private float[] afterOneRound(String reduction, List<Integer> order) {
    TestJob job =
        new TestJob("{\"name\": \"sync\", \"reduction\": \"%s\"}".formatted(reduction), 4, 0, 9, 5);
    TestShard shard = started(job, 5);
    for (int rank : order) {
      Random random = new Random(rank);
      float scale = (float) Math.pow(10, rank - 2);
      shard.handle(
          job.gradient(
              id(rank, 0, 0),
              0,
              10 + rank,
              scale * random.nextFloat(),
              scale * random.nextFloat(),
              scale * random.nextFloat(),
              scale * random.nextFloat()));
    }
    assertEquals(1, shard.version());
    return job.parameters(shard, 0);
  }

  private static ExchangeId id(int worker, long step, int partition) {
    return new ExchangeId(TestJob.JOB, worker, 0, 1, step, partition);
  }

  private static double[] widen(float[] values) {
    return IntStream.range(0, values.length).mapToDouble(i -> values[i]).toArray();
  }

  private static float[] narrow(double[] values) {
    float[] narrow = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      narrow[i] = (float) values[i];
    }
    return narrow;
  }

  /**
   * Linear regression with random samples: mean of {@code (x . w - y)^2 / 2}, with the gradient in
   * double precision.
   */
  private static final class LeastSquares {

    private final double[][] x;
    private final double[] y;

    LeastSquares(Random random, int weights, int samples) {
      x = new double[samples][weights];
      y = new double[samples];
      for (int s = 0; s < samples; s++) {
        for (int i = 0; i < weights; i++) {
          x[s][i] = random.nextGaussian();
          y[s] += x[s][i] * (i - 1);
        }
      }
    }

    /**
     * Returns the mean gradient over samples {@code [first, first + count)} at weights {@code w}.
     */
    double[] gradient(double[] w, int first, int count) {
      double[] gradient = new double[w.length];
      for (int s = first; s < first + count; s++) {
        double error = -y[s];
        for (int i = 0; i < w.length; i++) {
          error += x[s][i] * w[i];
        }
        for (int i = 0; i < w.length; i++) {
          gradient[i] += error * x[s][i] / count;
        }
      }
      return gradient;
    }
  }
}
