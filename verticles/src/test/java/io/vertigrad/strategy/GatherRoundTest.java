package io.vertigrad.strategy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.SortedSet;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests rounds of gradients whose memory is overwritten after they were passed, as by a stream. */
class GatherRoundTest {

  private static final int LENGTH = 5_000;
  private static final int[] SAMPLES = {7, 64, 13, 50};

  private final Store store = new Store();
  private final TensorMemory memory = new TensorMemory();

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldProduceTheSameBitsInAnyOrderOfGradients(boolean mean) {
    for (List<Integer> order :
        List.of(
            List.of(1, 0),
            List.of(0, 2, 1),
            List.of(2, 1, 0),
            List.of(1, 0, 2),
            List.of(1, 2, 0),
            List.of(3, 1, 2, 0),
            List.of(1, 3, 0, 2))) {
      GatherRound round = new GatherRound(mean, LENGTH, Optional.empty());
      for (int turn = 0; turn < 2; turn++) {
        order.forEach(rank -> arrive(round, rank, ranks(order.size())));
        round.applyTo(store);
        assertArrayEquals(expected(mean, order.size()), store.gradient, order + ", turn " + turn);
      }
    }
  }

  @Test
  void shouldKeepEarlyPiecesWhenTheOrderOfRanksChanges() {
    GatherRound round = new GatherRound(true, LENGTH, Optional.empty());
    SortedSet<Integer> without = new TreeSet<>(List.of(0, 2));
    arrive(round, 2, without);

    arrive(round, 1, ranks(3));
    arrive(round, 0, ranks(3));
    round.applyTo(store);

    assertArrayEquals(expected(true, 3), store.gradient);
  }

  @Test
  void shouldStartTheSumWithEarlyPiecesWhenTheFirstRankLeft() {
    GatherRound round = new GatherRound(true, LENGTH, Optional.empty());
    arrive(round, 1, ranks(2));
    round.leave(0);

    round.advance(new TreeSet<>(List.of(1)));
    round.applyTo(store);

    assertArrayEquals(values(1), store.gradient);
    assertEquals(SAMPLES[1], store.samples);
  }

  @Test
  void shouldDropEarlyPiecesWhenTheirWorkerLeft() {
    GatherRound round = new GatherRound(false, LENGTH, Optional.empty());
    arrive(round, 1, ranks(2));
    round.leave(1);

    arrive(round, 0, new TreeSet<>(List.of(0)));
    round.applyTo(store);

    assertArrayEquals(values(0), store.gradient);
  }

  @Test
  void shouldSumEarlyPiecesWhenARoundClosesWithoutTheFirst() {
    GatherRound round = new GatherRound(false, LENGTH, Optional.empty());
    arrive(round, 1, ranks(3));
    arrive(round, 2, ranks(3));

    round.applyTo(store);

    float[] sum = values(1);
    add(sum, 2, 1);
    assertArrayEquals(sum, store.gradient);
  }

  @Test
  void shouldDiscardEarlyPiecesWhenTheRoundIsDropped() {
    GatherRound round = new GatherRound(false, LENGTH, Optional.empty());
    arrive(round, 1, ranks(2));
    round.reset();

    arrive(round, 0, ranks(1));
    round.applyTo(store);

    assertArrayEquals(values(0), store.gradient);
  }

  /** Adds a gradient like the barrier, with memory that is overwritten afterwards. */
  private void arrive(GatherRound round, int rank, SortedSet<Integer> expected) {
    TensorView lent = memory.copyOf(DataType.FLOAT32, FloatBuffer.wrap(values(rank)));
    ExchangeId id = new ExchangeId(1, rank, 0, 1, 0, 0);
    round.hold(new GradientPartition(id, 42, 0, SAMPLES[rank], 0, lent));
    round.advance(expected);
    round.retain();
    memory.giveBack(lent);
    memory.giveBack(memory.copyOf(DataType.FLOAT32, FloatBuffer.wrap(new float[LENGTH])));
  }

  private static float[] expected(boolean mean, int workers) {
    float[] sum = values(0);
    int samples = SAMPLES[0];
    for (int rank = 1; rank < workers; rank++) {
      add(sum, rank, mean ? (float) SAMPLES[rank] / SAMPLES[0] : 1);
      samples += SAMPLES[rank];
    }
    float scale = mean ? (float) ((double) SAMPLES[0] / samples) : 1;
    for (int i = 0; i < LENGTH; i++) {
      sum[i] *= scale;
    }
    return sum;
  }

  private static void add(float[] sum, int rank, float weight) {
    float[] values = values(rank);
    for (int i = 0; i < LENGTH; i++) {
      sum[i] += weight * values[i];
    }
  }

  private static float[] values(int rank) {
    Random random = new Random(rank);
    float[] values = new float[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
      values[i] = (float) (random.nextGaussian() * Math.pow(10, random.nextInt(9) - 4));
    }
    return values;
  }

  private static SortedSet<Integer> ranks(int count) {
    SortedSet<Integer> ranks = new TreeSet<>();
    for (int rank = 0; rank < count; rank++) {
      ranks.add(rank);
    }
    return ranks;
  }

  /** Records the step and its scale. */
  private static final class Store implements PartitionStore {

    private float[] gradient;
    private long samples;

    @Override
    public int length() {
      return LENGTH;
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
    public void apply(float[] reduced, float scale, long count) {
      gradient = reduced.clone();
      for (int i = 0; i < gradient.length; i++) {
        gradient[i] *= scale;
      }
      samples = count;
    }

    @Override
    public Tensor parameters() {
      return Tensor.ofFloats(gradient);
    }
  }
}
