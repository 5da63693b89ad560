package io.vertigrad.verticles.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class BatchSizesTest {

  @Test
  void shouldEndAnEpochWithTheRestWhenBatchesDoNotDivideIt() {
    BatchSizes sizes = BatchSizes.of(100, 1, true, 32);

    assertEquals(
        List.of(32, 32, 32, 4, 32, 32, 32, 4), LongStream.range(0, 8).mapToObj(sizes::of).toList());
    assertEquals(0, sizes.epoch(3));
    assertEquals(1, sizes.epoch(4));
  }

  @Test
  void shouldShareOutTheSamplesWhenThereAreReplicas() {
    assertEquals(17, BatchSizes.of(33, 2, true, 64).of(0));
    assertEquals(33, BatchSizes.of(33, 2, false, 64).of(0));
  }

  @Test
  void shouldCutABatchIntoPartsThatDifferByOneAtMost() {
    List<Integer> firsts =
        IntStream.rangeClosed(0, 4).mapToObj(m -> BatchSizes.first(10, m, 4)).toList();

    assertEquals(List.of(0, 2, 5, 7, 10), firsts);
  }
}
