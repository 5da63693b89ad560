package io.vertigrad.testkit.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class DisturbanceTest {

  private static final List<String> VICTIMS = List.of("worker 0", "server 0", "everything");

  @Test
  void shouldPlanTheSameForTheSameSeed() {
    List<Disturbance> plan = Disturbance.plan(VICTIMS, 7, 20, 4, 6);

    assertEquals(plan, Disturbance.plan(VICTIMS, 7, 20, 4, 6));
    assertNotEquals(plan, Disturbance.plan(VICTIMS, 8, 20, 4, 6));
  }

  @Test
  void shouldKillEveryVictimBeforeRepeatingOne() {
    List<Disturbance> plan = Disturbance.plan(VICTIMS, 3, 6, 0, 6);

    assertEquals(Set.copyOf(VICTIMS), victims(plan.subList(0, 3)));
    assertEquals(Set.copyOf(VICTIMS), victims(plan.subList(3, 6)));
    assertTrue(plan.stream().allMatch(Disturbance::isKill), plan::toString);
  }

  @Test
  void shouldStopSingleProcessesForEachOfTheTimes() {
    List<Disturbance> stops =
        Disturbance.plan(VICTIMS, 5, 4, 3, 6).stream().filter(one -> !one.isKill()).toList();

    Set<Integer> seconds =
        stops.stream().map(Disturbance::stoppedSeconds).collect(Collectors.toSet());
    assertEquals(Set.of(13, 30, 60), seconds);
    assertTrue(stops.stream().noneMatch(one -> one.victim().equals("everything")));
  }

  @Test
  void shouldReserveTimeForEveryStop() {
    assertEquals(12, Disturbance.seconds(Disturbance.plan(VICTIMS, 5, 2, 0, 6), 6));
    assertEquals(2 * 6 + 13 + 30 + 60 + 18, Disturbance.seconds(plan(5, 2, 3), 6));
  }

  private static List<Disturbance> plan(long seed, int kills, int stops) {
    return Disturbance.plan(VICTIMS, seed, kills, stops, 6);
  }

  @Test
  void shouldKillDuringRecoverySometimes() {
    List<Disturbance> plan = Disturbance.plan(VICTIMS, 1, 500, 0, 6);

    long soon = plan.stream().filter(Disturbance::inRecovery).count();
    assertTrue(soon > 60 && soon < 140, soon + " of 500");
    assertTrue(
        plan.stream().allMatch(one -> one.inRecovery() ? one.waitSeconds() < 1 : inRange(one)));
  }

  @Test
  void shouldStopAllMembersEarlyAtTheSameTimesForTheSameSeed() {
    List<Disturbance> runs = Disturbance.stopAll(7, 50);

    assertEquals(runs, Disturbance.stopAll(7, 50));
    assertNotEquals(runs, Disturbance.stopAll(8, 50));
    assertTrue(runs.stream().allMatch(one -> one.victim().equals("all members")));
    assertTrue(runs.stream().noneMatch(Disturbance::isKill));
    assertTrue(runs.stream().allMatch(one -> one.waitSeconds() < 1.2), runs::toString);
    assertTrue(runs.stream().anyMatch(one -> one.waitSeconds() > 0.9), runs::toString);
  }

  private static boolean inRange(Disturbance one) {
    return one.waitSeconds() >= 6 * 0.7 && one.waitSeconds() <= 6 * 1.3;
  }

  private static Set<String> victims(List<Disturbance> plan) {
    Set<String> victims = new HashSet<>();
    plan.forEach(one -> victims.add(one.victim()));
    return victims;
  }
}
