package io.vertigrad.benchmarks.goodput;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.testkit.chaos.Disturbance;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GoodputOptionsTest {

  private static final int WORKERS = 8;

  @Test
  void shouldPlanTheSameFaultsForTheSameSeed() {
    GoodputOptions options = read(Map.of("seed", "7"), false);

    assertEquals(20, options.plan(WORKERS, true).size());
    assertEquals(options.plan(WORKERS, true), options.plan(WORKERS, true));
    assertNotEquals(
        options.plan(WORKERS, true), read(Map.of("seed", "8"), false).plan(WORKERS, true));
  }

  @Test
  void shouldKillStopAndCutInTurn() {
    List<String> kinds =
        read(Map.of("faults", "9"), false).plan(WORKERS, true).stream()
            .map(GoodputOptionsTest::kind)
            .toList();

    assertEquals(kinds.subList(0, 3).stream().sorted().toList(), List.of("cut", "kill", "stop"));
    assertEquals(kinds.subList(0, 3), kinds.subList(3, 6));
    assertEquals(kinds.subList(0, 3), kinds.subList(6, 9));
  }

  @Test
  void shouldOnlyKillAndStopWithoutALink() {
    List<Disturbance> plan = read(Map.of(), false).plan(WORKERS, false);

    assertTrue(plan.stream().noneMatch(one -> one.victim().equals(Disturbance.LINK)));
    assertEquals(10, plan.stream().filter(Disturbance::isKill).count());
  }

  @Test
  void shouldHitEveryWorkerOnceBeforeAnyIsHitAgain() {
    List<String> victims =
        read(Map.of("faults", "24"), false).plan(WORKERS, true).stream()
            .map(Disturbance::victim)
            .filter(victim -> !victim.equals(Disturbance.LINK))
            .toList();

    assertEquals(2 * WORKERS, victims.size());
    assertEquals(WORKERS, victims.subList(0, WORKERS).stream().distinct().count());
    assertEquals(WORKERS, victims.subList(WORKERS, 2 * WORKERS).stream().distinct().count());
  }

  /** The wait for the next fault begins when the last one ends. */
  @Test
  void shouldKeepTheTimeFromOneFaultToTheNext() {
    List<Disturbance> plan = read(Map.of("every", "29"), false).plan(WORKERS, true);

    for (int i = 1; i < plan.size(); i++) {
      assertEquals(29, plan.get(i - 1).stoppedSeconds() + plan.get(i).waitSeconds());
      assertTrue(plan.get(i).inRecovery());
    }
  }

  @Test
  void shouldTakeAFewFaultsWhenQuick() {
    assertEquals(3, read(Map.of(), true).faults());
    assertEquals(62, read(Map.of("faults", "62"), true).faults());
  }

  @Test
  void shouldRefuseFaultsThatOverlap() {
    assertEquals(
        "--every 8: expected a whole number from 10",
        assertThrows(IllegalArgumentException.class, () -> read(Map.of("every", "8"), false))
            .getMessage());
  }

  private static String kind(Disturbance one) {
    return one.victim().equals(Disturbance.LINK) ? "cut" : one.isKill() ? "kill" : "stop";
  }

  private static GoodputOptions read(Map<String, String> options, boolean quick) {
    return GoodputOptions.read(
        name -> options.get(name.replace("vertigrad.benchmarks.", "")), quick);
  }
}
