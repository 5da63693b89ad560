package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SplitMix64Test {

  @Test
  void shouldGiveTheReferenceSequenceWhenItHasNoKey() {
    SplitMix64 random = new SplitMix64();

    // First outputs of the published algorithm from state 0.
    assertEquals(0xE220A8397B1DCDAFL, random.nextLong());
    assertEquals(0x6E789E6AA1B965F4L, random.nextLong());
    assertEquals(0x06C45D188009454FL, random.nextLong());
  }

  @Test
  void shouldReturnOtherNumbersWhenAnyKeyOrTheirOrderChanges() {
    long first = new SplitMix64(1, 2).nextLong();

    assertEquals(first, new SplitMix64(1, 2).nextLong());
    assertNotEquals(first, new SplitMix64(2, 1).nextLong());
    assertNotEquals(first, new SplitMix64(1, 3).nextLong());
    assertNotEquals(first, new SplitMix64(1).nextLong());
    assertNotEquals(first, new SplitMix64(1, 2, 0).nextLong());
  }

  @Test
  void shouldSpreadEvenlyWhenBoundIsNoPowerOfTwo() {
    SplitMix64 random = new SplitMix64(7);
    int[] counts = new int[7];
    for (int i = 0; i < 70_000; i++) {
      counts[random.below(7)]++;
    }

    double chiSquare =
        Arrays.stream(counts).mapToDouble(n -> (n - 10_000.0) * (n - 10_000.0) / 10_000).sum();

    // 99.9 % of fair dice with seven faces stay below this value.
    assertTrue(chiSquare < 22.5, "chi-square " + chiSquare);
  }

  @Test
  void shouldDrawNormalNumbersWithUnitMoments() {
    SplitMix64 random = new SplitMix64(3);
    double[] draws = IntStream.range(0, 100_000).mapToDouble(i -> random.normal()).toArray();

    double mean = Arrays.stream(draws).average().orElseThrow();
    double variance = Arrays.stream(draws).map(x -> x * x).average().orElseThrow() - mean * mean;

    // Five standard errors: 5 / sqrt(100000) = 0.016.
    assertEquals(0, mean, 0.016);
    assertEquals(1, variance, 0.02);
  }

  @Test
  void shouldContainEveryNumberOnceWhenPermuting() {
    int[] permutation = new SplitMix64(5).permutation(1000);

    assertArrayEquals(
        IntStream.range(0, 1000).toArray(), Arrays.stream(permutation).sorted().toArray());
    assertTrue(permutation[0] != 0 || permutation[1] != 1 || permutation[2] != 2);
  }

  @Test
  void shouldRefuseABoundBelowOne() {
    assertThrows(IllegalArgumentException.class, () -> new SplitMix64(1).below(0));
  }
}
