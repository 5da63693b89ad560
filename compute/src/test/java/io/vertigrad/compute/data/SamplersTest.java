package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SamplersTest {

  @ParameterizedTest
  @CsvSource({"12, 1", "12, 3", "13, 3", "14, 3", "1, 1", "2, 5", "100, 7"})
  void shouldStrideThePaddedPermutationWhenDistributed(int samples, int workers) {
    int[] permutation = new DistributedSampler(samples, 1, 0, 42).epoch(3);
    int each = (samples + workers - 1) / workers;

    // torch: indices += indices[:padding]; indices[rank:total:workers]
    int[] padded = new int[each * workers];
    for (int i = 0; i < padded.length; i++) {
      padded[i] = permutation[i % samples];
    }
    for (int rank = 0; rank < workers; rank++) {
      int start = rank;
      int[] expected = IntStream.range(0, each).map(i -> padded[start + i * workers]).toArray();
      assertArrayEquals(expected, new DistributedSampler(samples, workers, rank, 42).epoch(3));
    }
  }

  @ParameterizedTest
  @CsvSource({"12, 1", "13, 3", "2, 5"})
  void shouldReportTheLengthOfAnEpochWithoutShuffling(int samples, int workers) {
    Sampler shared = new DistributedSampler(samples, workers, workers - 1, 42);
    Sampler all = new ShuffledSampler(samples, workers - 1, 42);

    assertEquals(shared.epoch(2).length, shared.length(2));
    assertEquals(all.epoch(2).length, all.length(2));
  }

  @Test
  void shouldCoverEverySampleWhenAllRanksAreTakenTogether() {
    int[] all =
        IntStream.range(0, 4)
            .flatMap(rank -> Arrays.stream(new DistributedSampler(10, 4, rank, 1).epoch(0)))
            .toArray();

    assertEquals(12, all.length);
    assertArrayEquals(
        IntStream.range(0, 10).toArray(), Arrays.stream(all).distinct().sorted().toArray());
  }

  @Test
  void shouldReshuffleWhenEpochOrSeedChanges() {
    int[] first = new DistributedSampler(1000, 2, 0, 9).epoch(0);

    assertArrayEquals(first, new DistributedSampler(1000, 2, 0, 9).epoch(0));
    assertFalse(Arrays.equals(first, new DistributedSampler(1000, 2, 0, 9).epoch(1)));
    assertFalse(Arrays.equals(first, new DistributedSampler(1000, 2, 0, 10).epoch(0)));
  }

  @Test
  void shouldShuffleAllSamplesDifferentlyForEachRankWhenNotShared() {
    int[] zero = new ShuffledSampler(500, 0, 9).epoch(0);
    int[] one = new ShuffledSampler(500, 1, 9).epoch(0);

    assertArrayEquals(IntStream.range(0, 500).toArray(), Arrays.stream(zero).sorted().toArray());
    assertArrayEquals(IntStream.range(0, 500).toArray(), Arrays.stream(one).sorted().toArray());
    assertFalse(Arrays.equals(zero, one));
    assertFalse(Arrays.equals(zero, new ShuffledSampler(500, 0, 9).epoch(1)));
    assertArrayEquals(zero, new ShuffledSampler(500, 0, 9).epoch(0));
  }

  @Test
  void shouldNameTheRangeWhenRankIsOutside() {
    String message =
        assertThrows(IllegalArgumentException.class, () -> new DistributedSampler(5, 2, 2, 0))
            .getMessage();

    assertEquals(
        "5 samples for rank 2 of 2: expected at least 1 sample and a rank from 0 to 1", message);
    assertThrows(IllegalArgumentException.class, () -> new DistributedSampler(0, 1, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> new ShuffledSampler(5, -1, 0));
  }

  @ParameterizedTest
  @CsvSource({"96, 4, 8", "97, 4, 8", "13, 3, 4", "100, 7, 2", "5, 2, 16"})
  void shouldDealTheSamplesOfTheDistributedSamplerWhenSharesAreEqual(
      int samples, int workers, int batch) {
    List<Integer> shares = Collections.nCopies(workers, batch);
    for (int rank = 0; rank < workers; rank++) {
      assertArrayEquals(
          new DistributedSampler(samples, workers, rank, 42).epoch(3),
          new DividedSampler(samples, rank, 42, shares, false).epoch(3));
    }
  }

  @ParameterizedTest
  @CsvSource({"96, 1", "97, 1", "100, 3", "39, 9", "8, 17", "64, 29"})
  void shouldTakeTheSameSamplesInEachStepWhenSharesDiffer(int samples, int slowest) {
    List<Integer> equal = List.of(8, 8, 8, 8);
    List<Integer> unlike = DividedSampler.divide(32, 10, slowest, 10, 0.1);
    int steps = (int) Math.ceil(DistributedSampler.share(samples, 4) / 8.0);

    for (int step = 0; step < steps; step++) {
      assertArrayEquals(step(samples, equal, step), step(samples, unlike, step));
    }
    assertEquals(0, step(samples, unlike, steps).length);
  }

  /** Returns the samples of all ranks in a step of an epoch, sorted. */
  private static int[] step(int samples, List<Integer> shares, int step) {
    return IntStream.range(0, shares.size())
        .flatMap(
            rank -> {
              int[] epoch = new DividedSampler(samples, rank, 42, shares, false).epoch(1);
              int from = Math.min(epoch.length, step * shares.get(rank));
              int to = Math.min(epoch.length, from + shares.get(rank));
              assertTrue(to > from || from == epoch.length, "rank " + rank + " has a sample");
              return Arrays.stream(epoch, from, to);
            })
        .sorted()
        .toArray();
  }

  @Test
  void shouldLeaveOutTheLastStepOnEveryRankWhenItHasFewerSamples() {
    List<Integer> shares = List.of(1, 3);

    for (int rank = 0; rank < 2; rank++) {
      var sampler = new DividedSampler(10, rank, 42, shares, true);
      assertEquals(2 * shares.get(rank), sampler.length(0));
      assertEquals(2 * shares.get(rank), sampler.epoch(0).length);
    }
  }

  @Test
  void shouldDivideByLargestRemaindersWithAtLeastOneEach() {
    assertEquals(List.of(39, 38, 38, 13), DividedSampler.divide(128, 3, 3, 3, 1));
    assertEquals(List.of(32, 32, 32, 32), DividedSampler.divide(128, 0.3, 0.3, 0.3, 0.3));
    assertEquals(List.of(6, 1, 1), DividedSampler.divide(8, 1000, 1, 1));
    assertEquals(List.of(1, 1), DividedSampler.divide(2, 5, 1));
    assertThrows(IllegalArgumentException.class, () -> DividedSampler.divide(1, 1, 1));
    assertThrows(
        IllegalArgumentException.class, () -> new DividedSampler(5, 0, 0, List.of(4, 0), false));
  }

  @Test
  void shouldReadEverySampleOnceWithoutPaddingWhenSequential() {
    SequentialBatches batches = SequentialBatches.all(new NumberedDataset(10), 4);

    int[] counts = new int[3];
    float next = 0;
    int batch = 0;
    for (var b : batches) {
      counts[batch++] = b.count();
      for (int i = 0; i < b.count(); i++, next++) {
        assertEquals(next, b.features()[2 * i]);
        assertEquals((int) next % 3, b.labels()[i]);
      }
    }

    assertArrayEquals(new int[] {4, 4, 2}, counts);
    assertEquals(10, batches.samples());
  }

  @Test
  void shouldTakeTheFirstOfASeededShuffleWhenASubsetIsAsked() {
    var dataset = new NumberedDataset(100);
    int[] ten = samples(SequentialBatches.subset(dataset, 4, 10, 5));
    int[] all = samples(SequentialBatches.subset(dataset, 4, 1000, 5));

    assertEquals(10, Arrays.stream(ten).distinct().count());
    assertArrayEquals(ten, Arrays.copyOf(all, 10));
    assertEquals(100, Arrays.stream(all).distinct().count());
    assertFalse(Arrays.equals(ten, samples(SequentialBatches.subset(dataset, 4, 10, 6))));
    assertTrue(Arrays.stream(ten).anyMatch(i -> i >= 10), "a shuffle reaches behind the first ten");
  }

  @Test
  void shouldRefuseEmptyBatchesAndSubsets() {
    var dataset = new NumberedDataset(3);

    assertThrows(IllegalArgumentException.class, () -> SequentialBatches.all(dataset, 0));
    assertThrows(IllegalArgumentException.class, () -> SequentialBatches.subset(dataset, 1, 0, 0));
  }

  private static int[] samples(SequentialBatches batches) {
    IntStream.Builder samples = IntStream.builder();
    for (var batch : batches) {
      for (int i = 0; i < batch.count(); i++) {
        samples.add((int) batch.features()[2 * i]);
      }
    }
    return samples.build().toArray();
  }
}
