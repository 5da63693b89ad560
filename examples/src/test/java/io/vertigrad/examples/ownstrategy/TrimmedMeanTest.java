package io.vertigrad.examples.ownstrategy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.PartitionStore;
import io.vertigrad.testkit.NetworkConditions;
import io.vertigrad.testkit.NetworkSimulator;
import io.vertigrad.testkit.StrategyContract;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrimmedMeanTest extends StrategyContract {

  @Override
  protected String settings() {
    return "{\"name\": \"trimmed-mean\"}";
  }

  @Test
  void shouldAverageTheRestWhenTheExtremesAreTrimmed() {
    List<TensorView> gradients =
        List.of(
            Tensor.ofFloats(1, -9e9f), Tensor.ofFloats(2, 1),
            Tensor.ofFloats(9e9f, 2), Tensor.ofFloats(4, 6));

    TrimmedSum trimmed = TrimmedSum.of(gradients, 1);

    assertEquals(2, trimmed.kept());
    assertArrayEquals(new float[] {2 + 4, 1 + 2}, trimmed.sum());
  }

  @Test
  void shouldReportHowMuchOfTheMagnitudeWasCut() {
    TestJob job = job(3);
    List<GradientPartition> round =
        List.of(
            job.gradient(0, 0, 0, 0, 1, 1, 1, 1),
            job.gradient(1, 0, 0, 0, 7, -7, 7, -7),
            job.gradient(2, 0, 0, 0, 2, 2, 2, 2));
    Map<String, Double> scalars = new HashMap<>();

    new TrimmedMean(1).reduce(round, new Recording(scalars));

    // Two coordinates keep 2 of 1, 2 and 7, the others 1 of -7, 1 and 2.
    assertEquals(Map.of("cut.share", (40 - 2 * 2 - 2 * 1) / 40.0), scalars);
  }

  /** Takes steps and scalars of a partition of four elements. */
  private record Recording(Map<String, Double> scalars) implements PartitionStore {

    @Override
    public int length() {
      return 4;
    }

    @Override
    public long version() {
      return 0;
    }

    @Override
    public void skipTo(long version) {}

    @Override
    public boolean isRestored() {
      return false;
    }

    @Override
    public void apply(float[] gradient, float scale, long samples) {}

    @Override
    public Tensor parameters() {
      return Tensor.ofFloats(0, 0, 0, 0);
    }

    @Override
    public void report(String name, double value) {
      scalars.put(name, value);
    }
  }

  @Test
  void shouldIgnoreOneBrokenWorkerOfThree() {
    TestJob job = job(3);
    TestShard shard = started(job, 3);

    shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    shard.handle(job.gradient(1, 0, 0, 0, 9e8f, -9e8f, 9e8f, -9e8f));
    Future<Frame> last = shard.handle(job.gradient(2, 0, 0, 0, 2, 2, 2, 2));

    assertTrue(last.succeeded());
    float[] medianStep = {-0.2f, 0.125f - 0.1f, 0.25f - 0.2f, 0.375f - 0.1f};
    assertArrayEquals(medianStep, job.parameters(shard, 0), 1e-6f);
  }

  @Test
  void shouldNameTheMissingWhenTheDeadlinePasses() {
    TestJob job = job(3);
    TestShard shard = started(job, 3);
    Future<Frame> early = shard.handle(job.gradient(1, 0, 0, 0, 1, 1, 1, 1));

    job.clock.advanceMillis(50_000);
    shard.tick(job.clock.getAsLong());

    assertEquals(
        "trimmed-mean: partition 0, round 0: no gradient from worker 0 (incarnation 0), worker 2"
            + " (incarnation 0) within 50000 ms; 1 that arrived were dropped; see what holds it up,"
            + " or raise strategy.deadlineMillis",
        ((Refusal) early.result()).message());
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void shouldEndWithTheBitsOfACleanRunWhenTheNetworkIsUnreliable(long seed) {
    float[][] expected = simulated(NetworkConditions.RELIABLE, seed).parameters();

    NetworkSimulator run = simulated(NetworkConditions.UNRELIABLE, seed);

    assertArrayEquals(expected, run.parameters());
    assertEquals(List.of(), run.unexpectedRefusals());
  }

  private NetworkSimulator simulated(NetworkConditions conditions, long seed) {
    return new NetworkSimulator(settings(), 3, 2, conditions, seed).run();
  }
}
