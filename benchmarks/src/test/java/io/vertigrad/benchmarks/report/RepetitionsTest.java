package io.vertigrad.benchmarks.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RepetitionsTest {

  @Test
  void shouldGiveTheMiddleValueWhenTheCountIsOdd() {
    Repetitions measured = new Repetitions(new double[] {9, 1, 5});

    assertEquals(5, measured.median());
    assertEquals(1, measured.min());
    assertEquals(9, measured.max());
    assertEquals(3, measured.count());
  }

  @Test
  void shouldInterpolateWhenAPercentileLiesBetweenTwoValues() {
    Repetitions measured = new Repetitions(new double[] {40, 10, 30, 20});

    assertEquals(25, measured.median(), 1e-12);
    assertEquals(39.7, measured.percentile(99), 1e-12);
  }

  /** The expected ranks come from tables for a sign test: 2nd of 10, 14th of 40, all of 5. */
  @ParameterizedTest
  @CsvSource({"10, 2, 9", "40, 14, 27", "6, 1, 6", "5, 1, 5", "1, 1, 1"})
  void shouldComputeTheRanksOfTheMediansConfidenceInterval(int count, int from, int to) {
    double[] ranks = IntStream.rangeClosed(1, count).asDoubleStream().toArray();

    Repetitions interval = new Repetitions(ranks).medianInterval();

    assertEquals(from, interval.min());
    assertEquals(to, interval.max());
  }

  @Test
  void shouldScaleEveryValueWhenTheUnitChanges() {
    Repetitions measured = new Repetitions(new double[] {1, 2, 3}).times(1e3);

    assertEquals(2000, measured.median());
    assertEquals(3000, measured.max());
  }

  @Test
  void shouldRefuseWhenNothingWasMeasured() {
    assertThrows(IllegalArgumentException.class, () -> new Repetitions(new double[0]));
  }
}
