package io.vertigrad.benchmarks.owndata;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.benchmarks.owndata.JobRun.Evaluation;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class JobRunTest {

  private static final JobRun RUN =
      new JobRun(
          97.5,
          30,
          List.of(
              new Evaluation(0.1, 0, 99),
              new Evaluation(9, 10, 90),
              new Evaluation(20, 20, 96),
              new Evaluation(30, 30, 95)),
          List.of());

  @Test
  void shouldFindTheFirstTestWhenItReachesTheAccuracy() {
    assertEquals(OptionalDouble.of(9), RUN.secondsTo(90));
    assertEquals(OptionalDouble.of(20), RUN.secondsTo(90.1));
  }

  @Test
  void shouldFindNoTestWhenOnlyTheInitialParametersReachTheAccuracy() {
    assertEquals(OptionalDouble.empty(), RUN.secondsTo(98));
  }

  @Test
  void shouldListVersionAndAccuracyWhenTheCurveIsPrinted() {
    assertEquals("0: 99.00, 10: 90.00, 20: 96.00, 30: 95.00", RUN.curve());
  }
}
