package io.vertigrad.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NetworkSimulatorTest {

  /** Number of seeds; for a soak test use {@code -Dvertigrad.seeds=100000}. */
  private static final long SEEDS = Long.getLong("vertigrad.seeds", 200);

  private static final int WORKERS = 3;
  private static final String SYNC = "{\"name\": \"sync\", \"reduction\": \"sum\"}";
  private static final String QUORUM =
      "{\"name\": \"sync\", \"reduction\": \"sum\", \"quorum\": 2}";
  private static final String ASYNC = "{\"name\": \"async\"}";
  private static final String BOUNDED = "{\"name\": \"async\", \"bound\": 2}";
  private static final String SSP = "{\"name\": \"ssp\", \"staleness\": 1}";

  private static final String DILOCO =
      "{\"name\": \"diloco\", \"servers\": true, \"syncEvery\": 1, \"outerLearningRate\": 1,"
          + " \"outerMomentum\": 0}";
  private static final String MERGING =
      "{\"name\": \"io.vertigrad.testkit.MergingSum\", \"quorum\": 2}";
  private static final String GRACE =
      "{\"name\": \"io.vertigrad.testkit.MergingSum\", \"quorum\": 1, \"graceMillis\": 300}";

  /** All faults at once: lost frames, cuts, deaths, crashes, and stopped workers that continue. */
  private static final NetworkConditions CHAOS =
      NetworkConditions.UNRELIABLE
          .withWorkerDeaths(2)
          .withServerCrashes(2)
          .withCuts(3)
          .withWorkerStops(2);

  @Test
  @Tag("slow")
  void shouldEndWithTheBitsOfACleanRunWhenSyncRunsOverAnUnreliableNetwork() {
    float[][] expected = run(SYNC, NetworkConditions.RELIABLE, 0).parameters();

    forEachSeed(
        seed -> {
          NetworkSimulator run = run(SYNC, NetworkConditions.UNRELIABLE, seed);
          float[][] found = run.parameters();
          for (int part = 0; part < expected.length; part++) {
            assertArrayEquals(expected[part], found[part], "seed " + seed + ", partition " + part);
          }
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP, MERGING, GRACE})
  @Tag("slow")
  void shouldApplyEachUpdateAsAnsweredWhenTheNetworkIsUnreliable(String strategy) {
    forEachSeed(
        seed -> {
          NetworkSimulator run = run(strategy, NetworkConditions.UNRELIABLE, seed);

          run.requireAppliedAtMostOnce();
          run.requireTrueAnswers();
          assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP, MERGING, GRACE})
  @Tag("slow")
  void shouldFinishAndApplyOnceWhenWorkersDieAndReturn(String strategy) {
    forEachSeed(
        seed -> {
          NetworkSimulator run =
              run(strategy, NetworkConditions.UNRELIABLE.withWorkerDeaths(2), seed);

          run.requireAppliedAtMostOnce();
          run.requireTrueAnswers();
          assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP, MERGING, GRACE})
  @Tag("slow")
  void shouldFinishAndApplyOnceWhenServersRestartFromSnapshots(String strategy) {
    forEachSeed(
        seed -> {
          NetworkSimulator run =
              run(strategy, NetworkConditions.UNRELIABLE.withServerCrashes(3), seed);

          run.requireAppliedAtMostOnce();
          assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP, MERGING, GRACE})
  @Tag("slow")
  void shouldFinishAndApplyOnceWhenWorkersAndServersFail(String strategy) {
    forEachSeed(
        seed -> {
          NetworkSimulator run =
              run(
                  strategy,
                  NetworkConditions.UNRELIABLE.withWorkerDeaths(4).withServerCrashes(2),
                  seed);

          run.requireAppliedAtMostOnce();
          assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  @Tag("slow")
  void shouldEndWithTheBitsOfACleanRunWhenWorkersOfSyncDieAndReturn(int shards) {
    float[][] expected = run(SYNC, NetworkConditions.RELIABLE, 0).parameters();

    forEachSeed(
        seed -> {
          NetworkSimulator run =
              new NetworkSimulator(
                      SYNC, WORKERS, shards, NetworkConditions.UNRELIABLE.withWorkerDeaths(4), seed)
                  .run();

          float[][] found = run.parameters();
          for (int part = 0; part < expected.length; part++) {
            assertArrayEquals(expected[part], found[part], "seed " + seed + ", partition " + part);
          }
          assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
        });
  }

  @ParameterizedTest
  @ValueSource(strings = {SYNC, QUORUM, ASYNC, BOUNDED, SSP, MERGING, GRACE})
  @Tag("slow")
  void shouldEndWithTheUndisturbedParametersAfterAnyFailure(String strategy) {
    float[][] expected = run(SYNC, NetworkConditions.RELIABLE, 0).parameters();

    forEachSeed(
        seed -> {
          NetworkSimulator run = run(strategy, CHAOS, seed, PlantedFault.NONE);

          run.requireAppliedAtMostOnce();
          run.requireBalancedLedger();
          assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
          if (strategy.equals(SYNC)) {
            float[][] found = run.parameters();
            for (int part = 0; part < expected.length; part++) {
              assertArrayEquals(
                  expected[part], found[part], "seed " + seed + ", partition " + part);
            }
          }
        });
  }

  @Test
  @Tag("slow")
  void shouldEndWithTheUndisturbedParametersOfDiLoCoAfterAnyFailure() {
    float[][] expected = run(DILOCO, NetworkConditions.RELIABLE, 0).parameters();

    forEachSeed(
        seed -> {
          NetworkSimulator run = run(DILOCO, CHAOS, seed, PlantedFault.NONE);

          float[][] found = run.parameters();
          for (int part = 0; part < expected.length; part++) {
            assertArrayEquals(expected[part], found[part], "seed " + seed + ", partition " + part);
          }
          assertEquals(List.of(), run.unexpectedRefusals(), "seed " + seed);
        });
  }

  /** Checks the checks: with any of these planted faults they must fail. */
  @ParameterizedTest
  @CsvSource({
    "async, NO_DEDUPLICATION",
    "ssp, NO_DEDUPLICATION",
    "async, NO_FENCING",
    "ssp, NO_FENCING",
    "sync, NO_FENCING",
    "async, LOST_ACKNOWLEDGEMENT",
    "ssp, LOST_ACKNOWLEDGEMENT",
    "sync, LOST_ACKNOWLEDGEMENT"
  })
  void shouldDetectAPlantedFault(String strategy, PlantedFault fault) {
    String json =
        Stream.of(SYNC, ASYNC, SSP).filter(one -> one.contains(strategy)).findFirst().orElseThrow();
    float[][] expected = run(SYNC, NetworkConditions.RELIABLE, 0).parameters();

    boolean found =
        LongStream.range(0, 200).parallel().anyMatch(seed -> isFound(json, fault, seed, expected));

    assertTrue(found, "none of 200 seeds found it");
  }

  /**
   * Checks every seed on all processors: runs share nothing. Fails with what the lowest seed found.
   */
  private static void forEachSeed(LongConsumer check) {
    LongStream.range(0, SEEDS)
        .parallel()
        .mapToObj(seed -> failure(check, seed))
        .flatMap(Optional::stream)
        .findFirst()
        .ifPresent(
            failure -> {
              throw failure;
            });
  }

  private static Optional<AssertionError> failure(LongConsumer check, long seed) {
    try {
      check.accept(seed);
      return Optional.empty();
    } catch (AssertionError | RuntimeException e) {
      return Optional.of(new AssertionError("seed %s: %s".formatted(seed, e.getMessage()), e));
    }
  }

  private static boolean isFound(
      String strategy, PlantedFault fault, long seed, float[][] expected) {
    try {
      NetworkSimulator run = run(strategy, CHAOS, seed, fault);
      run.requireAppliedAtMostOnce();
      run.requireBalancedLedger();
      return strategy.equals(SYNC) && !Arrays.deepEquals(expected, run.parameters());
    } catch (AssertionError found) {
      return true;
    }
  }

  private static NetworkSimulator run(
      String strategy, NetworkConditions conditions, long seed, PlantedFault fault) {
    int shards = (int) (seed % 3) + 1;
    return new NetworkSimulator(strategy, WORKERS, shards, conditions, seed, fault).run();
  }

  @Test
  void shouldDetectAnUpdateThatIsAppliedTwice() {
    NetworkSimulator run =
        new NetworkSimulator(
                ASYNC, WORKERS, 1, NetworkConditions.UNRELIABLE, 1, PlantedFault.NO_DEDUPLICATION)
            .run();

    assertThrows(AssertionError.class, run::requireAppliedAtMostOnce);
  }

  private static NetworkSimulator run(String strategy, NetworkConditions conditions, long seed) {
    return new NetworkSimulator(strategy, WORKERS, 2, conditions, seed).run();
  }
}
