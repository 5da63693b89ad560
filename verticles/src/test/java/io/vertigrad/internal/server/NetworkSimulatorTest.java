package io.vertigrad.internal.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.internal.exchange.DuplicateWindow;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NetworkSimulatorTest {

  /** For a soak test: {@code -Dvertigrad.seeds=100000}. */
  private static final long SEEDS = Long.getLong("vertigrad.seeds", 200);

  private static final int WORKERS = 3;
  private static final String SYNC = "{\"name\": \"sync\", \"reduction\": \"sum\"}";
  private static final String QUORUM =
      "{\"name\": \"sync\", \"reduction\": \"sum\", \"quorum\": 2}";
  private static final String ASYNC = "{\"name\": \"async\"}";
  private static final String BOUNDED = "{\"name\": \"async\", \"bound\": 2}";
  private static final String SSP = "{\"name\": \"ssp\", \"staleness\": 1}";

  @Test
  void shouldEndWithTheBitsOfACleanRunWhenSyncMeetsFoulWeather() {
    float[][] expected = run(SYNC, Weather.FAIR, 0).parameters();

    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run = run(SYNC, Weather.FOUL, seed);
      float[][] found = run.parameters();
      for (int part = 0; part < expected.length; part++) {
        assertArrayEquals(expected[part], found[part], "seed " + seed + ", partition " + part);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP})
  void shouldApplyEachUpdateAsAnsweredWhenTheWeatherIsFoul(String strategy) {
    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run = run(strategy, Weather.FOUL, seed);

      requireAtMostOnce(run, seed);
      requireTrueAnswers(run, seed);
      assertEquals(List.of(), run.surprises(), "seed " + seed);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP})
  void shouldFinishAndApplyOnceWhenWorkersDieAndReturn(String strategy) {
    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run = run(strategy, Weather.FOUL.withDeaths(2), seed);

      requireAtMostOnce(run, seed);
      requireTrueAnswers(run, seed);
      assertEquals(List.of(), run.surprises(), "seed " + seed);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP})
  void shouldFinishAndApplyOnceWhenServersRestartFromSnapshots(String strategy) {
    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run = run(strategy, Weather.FOUL.withCrashes(3), seed);

      requireAtMostOnce(run, seed);
      assertEquals(List.of(), run.surprises(), "seed " + seed);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP})
  void shouldFinishAndApplyOnceWhenWorkersAndServersFail(String strategy) {
    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run = run(strategy, Weather.FOUL.withDeaths(4).withCrashes(2), seed);

      requireAtMostOnce(run, seed);
      assertEquals(List.of(), run.surprises(), "seed " + seed);
    }
  }

  /** The control: without de-duplication the same check has to fail. */
  @ParameterizedTest
  @ValueSource(strings = {ASYNC, SSP})
  void shouldFailTheOracleWhenDuplicatesAreNotRecognised(String strategy) {
    long failed =
        LongStream.range(0, 100)
            .filter(
                seed -> {
                  NetworkSimulator run =
                      new NetworkSimulator(
                          strategy, WORKERS, 2, Weather.FOUL, seed, ForgetfulWindow::new);
                  run.run();
                  return isAppliedTwice(run);
                })
            .count();

    assertTrue(failed > 90, "only " + failed + " of 100 seeds were caught");
  }

  @Test
  void shouldNoticeWhenAnUpdateIsAppliedTwice() {
    NetworkSimulator run =
        new NetworkSimulator(ASYNC, WORKERS, 1, Weather.FOUL, 1, ForgetfulWindow::new).run();

    assertThrows(AssertionError.class, () -> requireAtMostOnce(run, 1));
  }

  private static NetworkSimulator run(String strategy, Weather weather, long seed) {
    return new NetworkSimulator(strategy, WORKERS, 2, weather, seed).run();
  }

  private static void requireAtMostOnce(NetworkSimulator run, long seed) {
    assertTrue(!isAppliedTwice(run), () -> "an update was applied twice: seed " + seed);
  }

  private static boolean isAppliedTwice(NetworkSimulator run) {
    float[][] parameters = run.parameters();
    float[] initial = run.job().initial();
    int length = run.slots().length();
    for (int part = 0; part < parameters.length; part++) {
      for (int slot = UpdateSlots.DENSE; slot < length; slot++) {
        float applied = initial[part * length + slot] - parameters[part][slot];
        if (applied != 0 && applied != 1) {
          return true;
        }
      }
    }
    return false;
  }

  /** What a worker was told is what happened. */
  private static void requireTrueAnswers(NetworkSimulator run, long seed) {
    float[][] parameters = run.parameters();
    float[] initial = run.job().initial();
    for (ParameterPartition answer : run.answers()) {
      ExchangeId id = answer.id();
      int slot = run.slots().of(id);
      int element = id.partition() * run.slots().length() + slot;
      float applied = initial[element] - parameters[id.partition()][slot];
      if (answer.outcome() != Outcome.DUPLICATE) {
        float expected = answer.outcome() == Outcome.APPLIED ? 1 : 0;
        assertEquals(expected, applied, () -> "seed " + seed + ": " + answer);
      }
    }
  }

  /** A window that recognises nothing. */
  private static final class ForgetfulWindow extends DuplicateWindow {

    @Override
    public boolean isSettled(ExchangeId id) {
      return false;
    }
  }
}
