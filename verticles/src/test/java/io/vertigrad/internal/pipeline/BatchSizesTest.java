package io.vertigrad.internal.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Device;
import io.vertigrad.job.WorkersConfig;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class BatchSizesTest {

  @Test
  void shouldEndAnEpochWithTheRestWhenBatchesDoNotDivideIt() {
    BatchSizes sizes = BatchSizes.of(100, 1, workers(32, "distributed", false));

    assertEquals(
        List.of(32, 32, 32, 4, 32, 32, 32, 4), LongStream.range(0, 8).mapToObj(sizes::of).toList());
    assertEquals(0, sizes.epoch(3));
    assertEquals(1, sizes.epoch(4));
  }

  @Test
  void shouldDivideSamplesAmongReplicas() {
    assertEquals(17, BatchSizes.of(33, 2, workers(64, "distributed", false)).of(0));
    assertEquals(33, BatchSizes.of(33, 2, workers(64, "none", false)).of(0));
  }

  @Test
  void shouldHaveFullBatchesOnlyWhenTheRestIsDropped() {
    BatchSizes sizes = BatchSizes.of(100, 1, workers(32, "distributed", true));

    assertEquals(List.of(32, 32, 32, 32), LongStream.range(0, 4).mapToObj(sizes::of).toList());
    assertEquals(0, sizes.epoch(2));
    assertEquals(1, sizes.epoch(3));
  }

  @Test
  void shouldRefuseBatchesLargerThanAnEpochWhenTheRestIsDropped() {
    IllegalArgumentException e =
        assertThrows(
            IllegalArgumentException.class,
            () -> BatchSizes.of(33, 2, workers(32, "distributed", true)));

    assertTrue(e.getMessage().contains("one's share of an epoch has 17 samples"), e.getMessage());
  }

  @Test
  void shouldCutABatchIntoPartsThatDifferByOneAtMost() {
    List<Integer> firsts =
        IntStream.rangeClosed(0, 4).mapToObj(m -> BatchSizes.first(10, m, 4)).toList();

    assertEquals(List.of(0, 2, 5, 7, 10), firsts);
  }

  private static WorkersConfig workers(int batch, String sampler, boolean dropLast) {
    return new WorkersConfig(
        1,
        1,
        batch,
        "equal",
        "shared",
        Optional.empty(),
        sampler,
        dropLast,
        1,
        Device.PROCESSOR,
        1);
  }
}
