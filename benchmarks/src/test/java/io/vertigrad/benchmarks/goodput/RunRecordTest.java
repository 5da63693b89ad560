package io.vertigrad.benchmarks.goodput;

import static io.vertigrad.benchmarks.goodput.RecordedRun.START;
import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class RunRecordTest {

  private static final double EXACT = 1e-3;

  @Test
  void shouldCountSamplesThatTheServerApplied() {
    RunRecord run = new RecordedRun(2).counted(2, 64).counted(3, 64).counted(6, 192).read(1_000);

    assertEquals(192, run.samples(START, START + 6), EXACT);
    assertEquals(START + 6, run.endedSeconds(), EXACT);
  }

  @Test
  void shouldCountVersionsOnceWhenWorkersGoBackToACheckpoint() {
    RunRecord run =
        new RecordedRun(2).reached(1, 10).reached(2, 20).reached(3, 14).reached(4, 22).read(32);

    assertEquals(22 * 32, run.samples(START, START + 4), EXACT);
  }

  /** A synchronisation of diloco counts all its samples at once. */
  @Test
  void shouldSpreadSamplesOverTheTimeInWhichTheyWereComputed() {
    RunRecord run = new RecordedRun(2).counted(2, 200).counted(4, 400).read(1);

    assertEquals(200, run.samples(START + 1, START + 3), EXACT);
    assertEquals(200, run.samples(START + 1.9, START + 3.9), EXACT);
  }

  @Test
  void shouldFindWhoIsAtTheFarEndOfTheLink() {
    RunRecord run =
        new RecordedRun(3)
            .joined(1, 2, "10.203.2.2 pid 7")
            .joined(5, 1, "10.203.2.2 pid 8")
            .read(1);

    assertEquals(2, run.rankAt("10.203.2.2", START + 4));
    assertEquals(1, run.rankAt("10.203.2.2", START + 6));
  }

  @Test
  void shouldMeasureGradientsOfATime() {
    RunRecord run =
        new RecordedRun(2).round(0, 9, 0, 1).round(10, 0.2, 0).round(11, 0.4, 1).read(1);

    assertEquals(0.3, run.gradientSeconds(START + 5, START + 20), EXACT);
  }
}
