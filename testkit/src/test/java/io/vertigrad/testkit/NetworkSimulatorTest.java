package io.vertigrad.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.internal.exchange.DuplicateWindow;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
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
  @Tag("slow")
  void shouldEndWithTheBitsOfACleanRunWhenSyncRunsOverAnUnreliableNetwork() {
    float[][] expected = run(SYNC, NetworkConditions.RELIABLE, 0).parameters();

    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run = run(SYNC, NetworkConditions.UNRELIABLE, seed);
      float[][] found = run.parameters();
      for (int part = 0; part < expected.length; part++) {
        assertArrayEquals(expected[part], found[part], "seed " + seed + ", partition " + part);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP})
  @Tag("slow")
  void shouldApplyEachUpdateAsAnsweredWhenTheNetworkIsUnreliable(String strategy) {
    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run = run(strategy, NetworkConditions.UNRELIABLE, seed);

      run.requireAppliedAtMostOnce();
      run.requireTrueAnswers();
      assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP})
  @Tag("slow")
  void shouldFinishAndApplyOnceWhenWorkersDieAndReturn(String strategy) {
    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run = run(strategy, NetworkConditions.UNRELIABLE.withWorkerDeaths(2), seed);

      run.requireAppliedAtMostOnce();
      run.requireTrueAnswers();
      assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP})
  @Tag("slow")
  void shouldFinishAndApplyOnceWhenServersRestartFromSnapshots(String strategy) {
    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run = run(strategy, NetworkConditions.UNRELIABLE.withServerCrashes(3), seed);

      run.requireAppliedAtMostOnce();
      assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP})
  @Tag("slow")
  void shouldFinishAndApplyOnceWhenWorkersAndServersFail(String strategy) {
    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run =
          run(
              strategy,
              NetworkConditions.UNRELIABLE.withWorkerDeaths(4).withServerCrashes(2),
              seed);

      run.requireAppliedAtMostOnce();
      assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  @Tag("slow")
  void shouldEndWithTheBitsOfACleanRunWhenWorkersOfSyncDieAndReturn(int shards) {
    float[][] expected = run(SYNC, NetworkConditions.RELIABLE, 0).parameters();

    for (long seed = 0; seed < SEEDS; seed++) {
      NetworkSimulator run =
          new NetworkSimulator(
                  SYNC, WORKERS, shards, NetworkConditions.UNRELIABLE.withWorkerDeaths(4), seed)
              .run();

      float[][] found = run.parameters();
      for (int part = 0; part < expected.length; part++) {
        assertArrayEquals(expected[part], found[part], "seed " + seed + ", partition " + part);
      }
      assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
    }
  }

  /** The control: without de-duplication the same check has to fail. */
  @ParameterizedTest
  @ValueSource(strings = {ASYNC, SSP})
  void shouldFailTheCheckWhenDuplicatesAreNotRecognised(String strategy) {
    long failed =
        LongStream.range(0, 100)
            .filter(
                seed -> {
                  NetworkSimulator run =
                      new NetworkSimulator(
                          strategy,
                          WORKERS,
                          2,
                          NetworkConditions.UNRELIABLE,
                          seed,
                          ForgetfulWindow::new);
                  run.run();
                  return isAppliedTwice(run);
                })
            .count();

    assertTrue(failed > 90, "only " + failed + " of 100 seeds were caught");
  }

  @Test
  void shouldNoticeWhenAnUpdateIsAppliedTwice() {
    NetworkSimulator run =
        new NetworkSimulator(
                ASYNC, WORKERS, 1, NetworkConditions.UNRELIABLE, 1, ForgetfulWindow::new)
            .run();

    assertThrows(AssertionError.class, run::requireAppliedAtMostOnce);
  }

  private static NetworkSimulator run(String strategy, NetworkConditions conditions, long seed) {
    return new NetworkSimulator(strategy, WORKERS, 2, conditions, seed).run();
  }

  private static boolean isAppliedTwice(NetworkSimulator run) {
    try {
      run.requireAppliedAtMostOnce();
      return false;
    } catch (AssertionError twice) {
      return true;
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
