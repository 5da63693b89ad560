package io.vertigrad.benchmarks.marginal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.benchmarks.process.ThreadKind;
import io.vertigrad.benchmarks.process.ThreadSampler.Sample;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Runs of 200 rounds, N = 100, of which each takes 100 ms unless a test has other progress. */
class PhasesTest {

  private static final double TOLERANCE = 1e-9;
  private static final int ROUNDS = 100;
  private static final long START = 50_000;
  private static final long MILLI = 1_000_000;

  private final List<JsonObject> events = new ArrayList<>(List.of(event("jobStarted", START)));

  @Test
  void shouldMeasureTheFirstFifthAndNRoundsFromTheMiddleOfN() {
    // 300 ms each of the first 20 rounds, then 100 ms.
    progress(0, START + 6_000, 20);
    progress(0, START + 24_000, 200);

    Phases phases = Phases.of(samples(60_000, 0), events, ROUNDS);

    assertEquals(300, phases.first().wallMillis(), TOLERANCE);
    assertEquals(50, phases.steadyFrom(), TOLERANCE);
    assertEquals(100, phases.steady().wallMillis(), TOLERANCE);
    // The workers take half of the time, event loops a quarter.
    assertEquals(225, phases.first().cpuMillis(), TOLERANCE);
    assertEquals(75, phases.steady().cpuMillis(), TOLERANCE);
    assertEquals(50, phases.steady().threads().get(ThreadKind.WORKERS), TOLERANCE);
    assertEquals(25, phases.steady().threads().get(ThreadKind.EVENT_LOOPS), TOLERANCE);
    assertEquals(0, phases.steady().threads().get(ThreadKind.COLLECTORS), TOLERANCE);
    assertEquals(Optional.empty(), Phases.warning(phases.compilerShare()));
  }

  @Test
  void shouldInterpolateProcessorTimeBetweenSamples() {
    progress(0, START + 20_000, 200);
    List<Sample> samples =
        List.of(
            sample(START - 1_000, 7_000, 0),
            // Round 10, then rounds 60 and 200.
            sample(START + 1_000, 7_200, 0),
            sample(START + 6_000, 8_200, 0),
            sample(START + 20_000, 9_600, 0));

    Phases phases = Phases.of(samples, events, ROUNDS);

    // 100 ms of the first 10 rounds, and 20 ms of each of the others until round 20.
    assertEquals((100 + 10 * 20) / 20.0, phases.first().cpuMillis(), TOLERANCE);
    // Rounds 50 to 60, and 60 to 150.
    assertEquals((10 * 20 + 90 * 10) / 100.0, phases.steady().cpuMillis(), TOLERANCE);
  }

  @Test
  void shouldCountTheMeanOfAllRanksWhenEventsComeInAnyOrder() {
    // Both end at the same time, as of async; until round 25 of the first the other rests.
    progress(1, START + 40_000, 150);
    progress(0, START + 40_000, 250);
    progress(0, START + 4_000, 25);
    progress(1, START + 4_000, 0);

    Phases phases = Phases.of(samples(60_000, 0), events, ROUNDS);

    // 12.5 rounds until 4 s, then 187.5 in 36 s, so that the 20th ends after 5.44 s.
    assertEquals(272, phases.first().wallMillis(), TOLERANCE);
    assertEquals(192, phases.steady().wallMillis(), TOLERANCE);
  }

  @Test
  void shouldBeginWhenCompilersHaveRestedForTwoSeconds() {
    progress(0, START + 20_000, 200);

    // They end at round 70, so the share of the two seconds before round 90 is the first below 2 %.
    Phases phases = Phases.of(samples(60_000, START + 7_000), events, ROUNDS);

    assertEquals(90, phases.steadyFrom(), TOLERANCE);
    assertEquals(0, phases.compilerShare(), TOLERANCE);
    assertEquals(75, phases.steady().cpuMillis(), TOLERANCE);
    assertEquals(0, phases.steady().threads().get(ThreadKind.COMPILERS), TOLERANCE);
  }

  @Test
  void shouldEndWithTheRunWhenCompilersRestLate() {
    // The last 50 rounds take twice as long.
    progress(0, START + 15_000, 150);
    progress(0, START + 25_000, 200);

    Phases phases = Phases.of(samples(60_000, START + 10_000), events, ROUNDS);

    assertEquals(120, phases.steadyFrom(), TOLERANCE);
    assertEquals((30 * 100 + 50 * 200) / 80.0, phases.steady().wallMillis(), TOLERANCE);
  }

  @Test
  void shouldTakeTheLastQuarterAndSaySoWhenCompilersDoNotRestInTime() {
    progress(0, START + 20_000, 200);

    Phases phases = Phases.of(samples(60_000, START + 14_000), events, ROUNDS);

    assertEquals(150, phases.steadyFrom(), TOLERANCE);
    assertEquals(100, phases.steady().wallMillis(), TOLERANCE);
    // Half of the two seconds with compilers, which take a quarter then.
    assertEquals(0.25 / (0.75 + 0.75 + 0.25), phases.compilerShare(), TOLERANCE);
    assertEquals(
        Optional.of(
            "steady is the last quarter of the run, before which the compilers took 14.3 % of the"
                + " processor time, expected less than 2 %: more --rounds"),
        Phases.warning(phases.compilerShare()));
  }

  @Test
  void shouldNameWhatARunLacks() {
    assertEquals(
        "found no processor time of threads, expected /proc/PID/task/TID/schedstat of Linux",
        refusal(List.of()));
    assertEquals("events.jsonl: found no workerProgress", refusal(samples(60_000, 0)));
    progress(0, START + 10_000, 120);
    assertEquals(
        "events.jsonl: found 120.0 steps of a worker on average, expected 150",
        refusal(samples(60_000, 0)));
    events.remove(0);
    assertEquals("events.jsonl: found no jobStarted", refusal(samples(60_000, 0)));
  }

  @Test
  void shouldRefuseAWindowWithoutProcessorTime() {
    progress(0, START + 20_000, 200);

    assertEquals(
        "rounds 0 to 20 took 100.00 ms, CPU 0.00 ms each, expected more than 0: too few --rounds,"
            + " or a busy machine",
        refusal(List.of(sample(START, 5, 0), sample(START + 30_000, 5, 0))));
  }

  private String refusal(List<Sample> samples) {
    return assertThrows(IllegalStateException.class, () -> Phases.of(samples, events, ROUNDS))
        .getMessage();
  }

  /**
   * Returns samples of workers that take half of the time, event loops that take a quarter, and
   * compilers that take a quarter until a time.
   */
  private static List<Sample> samples(long millis, long compilersEnd) {
    List<Sample> samples = new ArrayList<>();
    for (long time = START - 3_000; time <= START + millis; time += 200) {
      long since = time - START + 3_000;
      long compiling = Math.max(0, Math.min(time, compilersEnd) - START + 3_000);
      samples.add(sample(time, since / 2, since / 4, compiling / 4));
    }
    return samples;
  }

  private static Sample sample(long time, long workers, long compilers) {
    return sample(time, workers, 0, compilers);
  }

  private static Sample sample(long time, long workers, long eventLoops, long compilers) {
    return new Sample(
        time,
        Map.of(
            ThreadKind.WORKERS, workers * MILLI,
            ThreadKind.EVENT_LOOPS, eventLoops * MILLI,
            ThreadKind.COMPILERS, compilers * MILLI));
  }

  private void progress(int rank, long time, long step) {
    events.add(event("workerProgress", time).put("rank", rank).put("step", step));
  }

  private static JsonObject event(String type, long time) {
    return new JsonObject().put("type", type).put("timeMillis", time);
  }
}
