package io.vertigrad.testkit.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.testkit.chaos.RunEnd.Strike;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests that the checker finds each trace that a fault leaves in a run's folder. */
class ChaosCheckerTest {

  @Test
  void shouldReportNothingWhenARunEndsLikeTheUndisturbedRun() {
    assertEquals(List.of(), violations(summary()));
  }

  @Test
  void shouldReportAnotherHashWhereRunsAreRepeatable() {
    JsonObject other = summary().put("parametersHash", "0b");

    assertTrue(violations(other).get(0).contains("found 0b, expected 0a"));
    assertEquals(List.of(), ChaosChecker.violations(plan("async"), run(summary()), run(other)));
  }

  @Test
  void shouldReportALostUpdateWhenTheLedgerClaimsToBalance() {
    assertFound("1 lost updates", "lost", 1, "sent", 201);
    assertFound("do not balance", "sent", 201);
  }

  @Test
  void shouldReportAnUpdateThatWasAppliedTwice() {
    assertFound("do not balance", "applied", 201);
    assertFound("applied: found 201, expected 200", "applied", 201, "sent", 201);
  }

  @Test
  void shouldReportALedgerThatSaysItDoesNotBalance() {
    JsonObject summary = summary();
    summary.getJsonObject("updates").put("balanced", false);

    assertTrue(violations(summary).get(0).contains("do not balance"));
  }

  @Test
  void shouldReportARunWithoutLedgerOrEnd() {
    JsonObject summary = summary().put("updates", new JsonObject().put("applied", 200));
    assertTrue(violations(summary).get(0).contains("no ledger"));

    assertTrue(violations(summary().put("state", "interrupted")).get(0).contains("interrupted"));
    assertFalse(violations(new JsonObject()).isEmpty());
    assertTrue(violations(summary().put("version", 99L)).get(0).startsWith("version: found 99"));
  }

  @Test
  void shouldReportExitCodesAndRemainingProcesses() {
    RunEnd failed = new RunEnd(1, 1, summary(), List.of(), List.of(), List.of("process 7"), "");

    List<String> found = ChaosChecker.violations(plan("sync"), run(summary()), failed);

    assertTrue(found.get(0).contains("exit code 1"), found::toString);
    assertTrue(found.get(1).contains("process 7"), found::toString);
  }

  @Test
  void shouldFindTheLongestTimeWithoutAStepInACut() {
    Strike cut = new Strike(Disturbance.cut(6, 60), 1_000, 0);
    List<JsonObject> events =
        List.of(
            progress(900, 10),
            progress(1_300, 11),
            left(11_000, 1, "silent for 10010 ms"),
            progress(13_300, 12),
            progress(13_800, 12),
            progress(14_300, 13),
            progress(99_000, 14));
    RunEnd run = new RunEnd(0, 1, summary(), events, List.of(cut), List.of(), "");

    assertEquals(List.of(), ChaosChecker.violations(plan("sync"), run(summary()), run));
    assertEquals(84.7, run.gap(cut));
    assertEquals(
        List.of("found no step for 84.7 s after 'cut the link for 60 s', expected 13.0 s at most"),
        ChaosChecker.stalls(run, 13_000));
    RunEnd fine = new RunEnd(0, 1, summary(), events.subList(0, 6), List.of(cut), List.of(), "");
    assertEquals(12, fine.gap(cut));
    assertEquals(List.of(), ChaosChecker.stalls(fine, 13_000));
  }

  @Test
  void shouldReportAnEvictionOfAMemberThatWasNotStopped() {
    Strike stop = new Strike(new Disturbance(1, false, "worker 0", 13), 1_000, 0);
    List<JsonObject> events =
        List.of(
            left(12_000, 0, "silent for 10010 ms, last heard step 7"), left(30_000, 1, "finished"));
    RunEnd fine = new RunEnd(0, 1, summary(), events, List.of(stop), List.of(), "");
    assertEquals(List.of(), ChaosChecker.violations(plan("sync"), run(summary()), fine));

    List<JsonObject> healthy = List.of(left(12_000, 1, "silent for 10010 ms"));
    RunEnd evicted = new RunEnd(0, 1, summary(), healthy, List.of(stop), List.of(), "");
    List<JsonObject> later = List.of(left(60_000, 0, "silent for 10010 ms"));
    RunEnd afterwards = new RunEnd(0, 1, summary(), later, List.of(stop), List.of(), "");

    List<String> found = ChaosChecker.violations(plan("sync"), run(summary()), evicted);
    assertTrue(found.get(0).startsWith("found worker 1 evicted"), found::toString);
    assertEquals(1, ChaosChecker.violations(plan("sync"), run(summary()), afterwards).size());
  }

  @Test
  void shouldAllowAnyEvictionWhenAllMembersWereStopped() {
    Strike stop = new Strike(new Disturbance(1, false, "all members", 3), 1_000, 0);
    List<JsonObject> events =
        List.of(left(3_100, 0, "silent for 2010 ms"), left(3_200, 1, "silent for 2090 ms"));
    RunEnd run = new RunEnd(0, 1, summary(), events, List.of(stop), List.of(), "");

    assertEquals(List.of(), ChaosChecker.violations(plan("sync"), run(summary()), run));
    assertEquals(2, run.evictedWorkers());
  }

  private static JsonObject progress(long timeMillis, long version) {
    return new JsonObject()
        .put("type", "serverProgress")
        .put("timeMillis", timeMillis)
        .put("version", version);
  }

  private static JsonObject left(long millis, int rank, String reason) {
    return new JsonObject()
        .put("type", "memberLeft")
        .put("timeMillis", millis)
        .put("role", "worker")
        .put("rank", rank)
        .put("reason", reason);
  }

  @Test
  void shouldMeasureFromAKillToTheFirstNewVersion() {
    List<JsonObject> events =
        List.of(
            progress("workerProgress", 900, 7),
            progress("serverProgress", 950, 10),
            progress("serverProgress", 1_500, 4),
            progress("memberVitals", 1_600, 11),
            progress("serverProgress", 2_500, 11));
    Strike kill = new Strike(new Disturbance(1, false, "server 0", 0), 1_000, 1_200);
    Strike second = new Strike(new Disturbance(1, true, "worker 0", 0), 2_000, 0);
    Strike late = new Strike(new Disturbance(1, true, "worker 0", 0), 9_000, 0);

    RunEnd run = new RunEnd(0, 1, summary(), events, List.of(kill, second, late), List.of(), "");

    assertEquals(1.5, run.gap(kill));
    assertEquals(0.3, run.resumeSeconds(kill));
    assertTrue(run.overlaps(kill) && run.overlaps(second));
    assertTrue(Double.isNaN(run.gap(late)));
    assertFalse(run.overlaps(late));
  }

  private static JsonObject progress(String type, long millis, long version) {
    return new JsonObject().put("type", type).put("timeMillis", millis).put("version", version);
  }

  private static void assertFound(String what, Object... changes) {
    JsonObject summary = summary();
    for (int i = 0; i < changes.length; i += 2) {
      summary.getJsonObject("updates").put((String) changes[i], changes[i + 1]);
    }
    List<String> found = violations(summary);
    assertTrue(found.stream().anyMatch(text -> text.contains(what)), found::toString);
  }

  private static List<String> violations(JsonObject summary) {
    return ChaosChecker.violations(plan("sync"), run(summary()), run(summary));
  }

  private static RunEnd run(JsonObject summary) {
    return new RunEnd(0, 1, summary, List.of(), List.of(), List.of(), "");
  }

  private static JsonObject summary() {
    JsonObject updates =
        new JsonObject().put("sent", 200).put("applied", 200).put("late", 0).put("tooStale", 0);
    return new JsonObject()
        .put("state", "finished")
        .put("version", 100)
        .put("parametersHash", "0a")
        .put("updates", updates.put("refused", 0).put("lost", 0).put("balanced", true));
  }

  private static ChaosPlan plan(String name) {
    return ChaosPlan.all().stream().filter(p -> p.name().equals(name)).findFirst().orElseThrow();
  }
}
