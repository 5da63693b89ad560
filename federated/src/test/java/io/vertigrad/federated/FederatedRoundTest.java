package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.PartitionStore;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class FederatedRoundTest {

  /** Two workers with 100 and 20 samples, batches of 8 and two passes: 26 and 6 steps. */
  @Test
  void shouldNormaliseByLocalStepsWhenTheRuleIsFedNova() {
    Store store = new Store();
    FederatedRound round = round("fednova", new LocalWork(2, 8, 0), Block.Kind.TRAINABLE, store);

    round.reduce(List.of(update(0, 200, 13, 0), update(1, 40, 0, 3)), store);

    double effective = 26 * 200 / 240.0 + 6 * 40 / 240.0;
    double first = effective * 200 / 240 / 26 * 13;
    double second = effective * 40 / 240 / 6 * 3;
    assertArrayEquals(new float[] {(float) -first, (float) -second}, store.parameters, 1e-5f);
    assertEquals(240, store.samples);
  }

  @Test
  void shouldCountTheGradientsThatMomentumRepeatsWhenItNormalises() {
    LocalWork work = new LocalWork(1, 10, 0.9);

    double sum = 0;
    for (int step = 0; step < 5; step++) {
      // Gradient number step is in the velocity of this step and of all later ones.
      for (int later = step; later < 5; later++) {
        sum += Math.pow(0.9, later - step);
      }
    }

    assertEquals(sum, work.accumulation(50), 1e-12);
    assertEquals(sum, work.accumulation(41), 1e-12, "a smaller last batch");
    assertEquals(5, new LocalWork(1, 10, 0).accumulation(50));
    assertEquals(1, new LocalWork(0, 10, 0.9).accumulation(50), "steps of equal number");
  }

  @Test
  void shouldCountWorkersAlikeWhenTheRuleIsScaffold() {
    Store store = new Store();
    FederatedRound round = round("scaffold", new LocalWork(0, 8, 0), Block.Kind.TRAINABLE, store);

    round.reduce(List.of(update(0, 30, 4, 0), update(1, 10, 0, 4)), store);

    assertArrayEquals(new float[] {-2, -2}, store.parameters);
  }

  @Test
  void shouldAverageStatisticsBySamplesWhenTheRuleWeighsOtherwise() {
    Store store = new Store();
    FederatedRound round = round("scaffold", new LocalWork(0, 8, 0), Block.Kind.STATISTIC, store);

    round.reduce(List.of(update(0, 30, 4, 0), update(1, 10, 0, 4)), store);

    assertArrayEquals(new float[] {-3, -1}, store.parameters);
  }

  @Test
  void shouldLeaveOutWorkersWhenTheyDoNotTakePart() {
    Participation half = new Participation(0.5, 3);
    Store store = new Store();
    ParticipatingUpdates round =
        new ParticipatingUpdates(
            half,
            4,
            Optional.empty(),
            round("fedavg", new LocalWork(0, 1, 0), Block.Kind.TRAINABLE, store));
    List<Integer> chosen =
        IntStream.range(0, 4).filter(rank -> half.chosen(0, 4).get(rank)).boxed().toList();

    round.reduce(
        IntStream.range(0, 4).mapToObj(rank -> update(rank, 10, 1 << rank, 0)).toList(), store);

    assertEquals(2, chosen.size());
    float mean = (float) chosen.stream().mapToInt(rank -> 1 << rank).average().orElseThrow();
    assertArrayEquals(new float[] {-mean, 0}, store.parameters);
    assertEquals(20, store.samples);
  }

  @Test
  void shouldChooseEachRankEquallyOftenWhenRoundsAreMany() {
    Participation some = new Participation(0.3, 7);
    int rounds = 10_000;
    int[] counts = new int[10];

    for (int round = 0; round < rounds; round++) {
      BitSet chosen = some.chosen(round, counts.length);
      chosen.stream().forEach(rank -> counts[rank]++);
      assertEquals(3, chosen.cardinality());
    }

    // Five standard deviations of a binomial distribution.
    double deviation = Math.sqrt(rounds * 0.3 * 0.7);
    for (int count : counts) {
      assertEquals(rounds * 0.3, count, 5 * deviation);
    }
  }

  @Test
  void shouldCountTheRoundsOfEachWorkerWhenItReportsTheirPrivacy() {
    Participation half = new Participation(0.5, 3);
    PrivacyLoss loss = new PrivacyLoss(new PrivacyAccountant(2, 1), half, 4);
    PrivacyAccountant whole = new PrivacyAccountant(2, 1);

    for (long version : new long[] {0, 1, 7, 30, 12}) {
      for (int rank = 0; rank < 4; rank++) {
        int own = rank;
        long rounds =
            LongStream.rangeClosed(0, version)
                .filter(each -> half.chosen(each, 4).get(own))
                .count();
        assertEquals(whole.epsilon(rounds, 1e-5), loss.epsilon(rank, version), 1e-12);
      }
    }
    PrivacyLoss ofAll = new PrivacyLoss(whole, new Participation(1, 3), 0);
    assertEquals(whole.epsilon(31, 1e-5), ofAll.epsilon(2, 30), 1e-12);
  }

  private static FederatedRound round(String rule, LocalWork work, Block.Kind kind, Store store) {
    JsonObject section = new JsonObject().put("rule", rule);
    FederatedConfig config = FederatedConfig.read(Settings.of("test.json", section));
    return new FederatedRound(
        config.rule(),
        work,
        new Partition(0, 0, 2, kind, 0),
        (sum, samples) -> store.apply(sum, 1, samples));
  }

  private static GradientPartition update(int rank, int samples, float... values) {
    ExchangeId id = new ExchangeId(1, rank, 0, 1, 0, 0);
    return new GradientPartition(id, 1, 0, samples, 0, Tensor.ofFloats(values));
  }

  /** Two parameters that follow gradients at a rate of 1. */
  private static final class Store implements PartitionStore {

    private final float[] parameters = new float[2];
    private long samples;

    @Override
    public int length() {
      return parameters.length;
    }

    @Override
    public long version() {
      return 0;
    }

    @Override
    public void skipTo(long version) {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean isRestored() {
      return false;
    }

    @Override
    public void apply(float[] gradient, float scale, long count) {
      for (int i = 0; i < parameters.length; i++) {
        parameters[i] -= scale * gradient[i];
      }
      samples += count;
    }

    @Override
    public Tensor parameters() {
      return Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(parameters));
    }
  }
}
