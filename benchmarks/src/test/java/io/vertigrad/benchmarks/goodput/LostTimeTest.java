package io.vertigrad.benchmarks.goodput;

import static io.vertigrad.benchmarks.goodput.RecordedRun.START;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.benchmarks.goodput.LostTime.Fault;
import io.vertigrad.benchmarks.goodput.LostTime.Part;
import io.vertigrad.benchmarks.goodput.LostTime.Size;
import io.vertigrad.benchmarks.goodput.LostTime.Undisturbed;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/**
 * Two workers in rounds of a second: a gradient of half a second, then half a second of waiting for
 * the other one. Faults come at second 10 and belong to the ten seconds that follow.
 */
class LostTimeTest {

  private static final int BATCH = 10;
  private static final Size SIZE = new Size(2, BATCH);
  private static final Undisturbed NORMAL = new Undisturbed(2 * BATCH, 0.5);
  private static final double EVERY = 10;
  private static final double EXACT = 0.02;

  @Test
  void shouldLoseNothingWithoutConsequences() {
    RunRecord run = new RecordedRun(2).rounds(0, 21, 0, BATCH).read(1);

    LostTime lost = lost(run, new Fault("stop", 1, START + 9.99, START + 9.995));

    assertEquals(0, lost.seconds(), EXACT);
    lost.parts().forEach((part, seconds) -> assertEquals(0, seconds, EXACT, part.toString()));
  }

  /** Noticed after 1 s, a process after 3 s more, which needs 1 s; the other one waits for it. */
  @Test
  void shouldFollowAKilledWorkerUntilItsReplacementComputes() {
    RunRecord run =
        new RecordedRun(2)
            .rounds(0, 10, 0, BATCH)
            .round(10, 0.5, 0)
            .left(11, 1, "its process worker-1 ended with exit code 137 (signal 9)")
            .joined(14, 1, "10.203.1.2 pid 999")
            .round(15, 0.5, 1)
            .counted(16, 11 * 2 * BATCH)
            .rounds(16, 5, 11 * 2 * BATCH, BATCH)
            .read(1);

    LostTime lost = lost(run, new Fault("kill", 1, START + 10, START + 10));

    assertParts(
        Map.of(Part.NOTICING, 0.5, Part.STARTING, 1.5, Part.JOINING, 0.5, Part.WAITING, 2.5), lost);
    assertEquals(OptionalDouble.of(1), rounded(lost.noticed()));
    assertEquals(OptionalDouble.of(5), rounded(lost.back()));
  }

  @Test
  void shouldCallTheTimeOfAStopNoticingWhenNobodyNoticesIt() {
    RunRecord run =
        new RecordedRun(2)
            .rounds(0, 10, 0, BATCH)
            .round(10, 0.5, 0)
            // The process was stopped when its gradient was half done.
            .round(10, 3.5, 1)
            .counted(14, 11 * 2 * BATCH)
            .rounds(14, 7, 11 * 2 * BATCH, BATCH)
            .read(1);

    LostTime lost = lost(run, new Fault("stop", 1, START + 10.25, START + 13.25));

    assertEquals(1.5, lost.parts().get(Part.NOTICING), 0.5);
    assertEquals(3, lost.seconds(), 0.3);
    assertEquals(OptionalDouble.empty(), lost.noticed());
  }

  /** Both go back by two steps of a second, and the third round counts again. */
  @Test
  void shouldCountStepsThatAreRepeated() {
    RunRecord run =
        new RecordedRun(2)
            .rounds(0, 10, 0, BATCH)
            .round(10, 0.5, 0, 1)
            .round(11, 0.5, 0, 1)
            .counted(12, 10 * 2 * BATCH)
            .rounds(12, 9, 10 * 2 * BATCH, BATCH)
            .read(1);

    LostTime lost = lost(run, new Fault("kill", 1, START + 10, START + 10));

    assertEquals(2, lost.seconds(), 0.3);
    assertEquals(1, lost.parts().get(Part.REPEATED), 0.15);
  }

  /** The live worker computes the gradients of both for four rounds. */
  @Test
  void shouldCallAStepSlowerThatSharesAProcess() {
    RecordedRun recorded = new RecordedRun(2).rounds(0, 10, 0, BATCH);
    recorded.left(10, 1, "silent for 2.0 s").joined(10, 1, "10.203.1.2 pid 100");
    for (int i = 0; i < 4; i++) {
      recorded.round(10 + 1.5 * i, 1, 0, 1);
      recorded.counted(11.5 + 1.5 * i, (11L + i) * 2 * BATCH);
    }
    RunRecord run = recorded.rounds(16, 5, 14 * 2 * BATCH, BATCH).read(1);

    LostTime lost = lost(run, new Fault("cut", 1, START + 9.99, START + 12));

    assertEquals(2, lost.seconds(), 0.1);
    assertEquals(2, lost.parts().get(Part.SLOWER), 0.1);
  }

  @Test
  void shouldGiveEachFaultTheTimeUntilTheNext() {
    RunRecord run =
        new RecordedRun(2)
            .rounds(0, 10, 0, BATCH)
            .rounds(14, 8, 10 * 2 * BATCH, BATCH)
            .rounds(23, 8, 18 * 2 * BATCH, BATCH)
            .read(1);
    Fault first = new Fault("kill", 0, START + 10, START + 10);
    Fault second = new Fault("kill", 1, START + 20, START + 20);

    List<LostTime> lost = LostTime.of(run, NORMAL, SIZE, List.of(first, second), EVERY);

    assertEquals(List.of(first, second), lost.stream().map(LostTime::fault).toList());
    assertEquals(4, lost.get(0).seconds(), 0.9);
    assertEquals(1, lost.get(1).seconds(), 0.9);
  }

  private static LostTime lost(RunRecord run, Fault fault) {
    LostTime lost = LostTime.of(run, NORMAL, SIZE, List.of(fault), EVERY).get(0);
    double end = fault.begin() + EVERY;
    double counted = run.samples(fault.begin(), end) / NORMAL.samplesPerSecond();
    assertEquals(EVERY - counted, lost.seconds(), 1e-6, "parts add up to what is lost");
    return lost;
  }

  private static void assertParts(Map<Part, Double> expected, LostTime lost) {
    for (Part part : Part.values()) {
      double seconds = expected.getOrDefault(part, 0.0);
      assertEquals(seconds, lost.parts().get(part), 0.3, part.toString());
    }
    assertEquals(
        expected.values().stream().mapToDouble(Double::doubleValue).sum(), lost.seconds(), 0.1);
  }

  private static OptionalDouble rounded(OptionalDouble seconds) {
    return OptionalDouble.of(Math.round(seconds.orElseThrow()));
  }
}
