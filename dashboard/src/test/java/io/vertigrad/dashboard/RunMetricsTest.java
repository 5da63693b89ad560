package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

final class RunMetricsTest {

  private final RunMetrics metrics = RunStory.metrics();

  @Test
  void shouldNumberDeltasFromOneAndRepeatTheNumberInTheSnapshot() {
    advance(RunStory.beginning());
    advance(RunStory.after(10));
    JsonObject last = advance(RunStory.after(20));

    JsonObject snapshot = metrics.snapshot(7);

    assertEquals(3, last.getLong("number"));
    assertEquals(3, snapshot.getLong("number"));
    assertEquals(last.getJsonObject("state"), snapshot.getJsonObject("state"));
    assertEquals(member(last, "worker", 1), member(snapshot, "worker", 1));
    assertEquals(2, snapshot.getJsonArray("tests").size());
    assertEquals(4, snapshot.getJsonArray("events").size());
  }

  @Test
  void shouldDivideCountsByTheTimeBetweenReports() {
    advance(RunStory.beginning());
    advance(RunStory.after(10));
    JsonObject worker = member(advance(RunStory.after(20)), "worker", 0);

    // The two reports are one second and ten steps apart.
    assertEquals(1_280, worker.getDouble("samplesPerSecond"), 1e-9);
    assertEquals(0.6, worker.getDouble("computing"), 1e-9);
    assertEquals(0.3, worker.getDouble("exchanging"), 1e-9);
    assertEquals(0.1, worker.getDouble("waitingForData"), 1e-9);
    assertEquals(10_000, worker.getDouble("sentPerSecond"), 1e-9);
    assertEquals(20_000, worker.getDouble("receivedPerSecond"), 1e-9);
    JsonObject sent = new JsonObject().put("0", 6_000L).put("3", 3_000L).put("others", 1_000L);
    assertEquals(sent, worker.getJsonObject("sentToPerSecond"));
    assertEquals("{\"0\":20000}", worker.getJsonObject("receivedFromPerSecond").encode());
    assertFalse(worker.containsKey("sentTo"), worker::encode);
    assertEquals(1.5, worker.getDouble("cores"), 1e-9);
  }

  @Test
  void shouldLeavePausesOutOfSpeeds() {
    advance(RunStory.beginning());
    advance(RunStory.after(10));
    long pausedMillis = timeOf(RunStory.after(20)) + 1;
    advance(RunStory.after(20));

    JsonObject paused = advance(List.of(new JobPaused(pausedMillis)));
    JsonObject state = paused.getJsonObject("state");
    assertEquals("paused", state.getString("phase"));
    assertEquals(0, state.getDouble("samplesPerSecond"));
    assertEquals(0, member(paused, "worker", 0).getDouble("samplesPerSecond"));
    long resumedMillis = timeOf(RunStory.after(30)) - 500;
    advance(List.of(new JobResumed(resumedMillis, 3)));
    JsonObject after = advance(RunStory.after(30));

    // Ten steps of 128 samples in the half second since the end of the pause.
    assertEquals(2_560, member(after, "worker", 0).getDouble("samplesPerSecond"), 1e-9);
    assertEquals("running", after.getJsonObject("state").getString("phase"));
    assertEquals(
        resumedMillis - pausedMillis, after.getJsonObject("state").getLong("pausedMillis"));
    assertEquals(resumedMillis, after.getJsonObject("state").getLong("resumedMillis"));
  }

  @Test
  void shouldContinueTheCountersWhenAMemberJoinsAgain() {
    advance(RunStory.beginning());
    advance(RunStory.after(20));
    JsonObject rejoined =
        advance(
            List.of(
                new MemberLeft(1, Role.WORKER, 0, 0, "silent for 10000 ms"),
                new MemberJoined(2, Role.WORKER, 0, 1, "a pid 9", ""),
                new MemberLeft(1, Role.SERVER, 0, 0, "its process ended"),
                new MemberJoined(2, Role.SERVER, 0, 1, "a pid 8", "")));
    assertEquals("{\"0\":20}", member(rejoined, "worker", 0).getJsonObject("staleness").encode());
    assertEquals(40, member(rejoined, "server", 0).getLong("applied"));

    JsonObject alone = advance(List.of(RunStory.progress(RunStory.START + 2_050, 1, 0, 20)));
    assertEquals(
        0.1, alone.getJsonObject("state").getDouble("loss"), 1e-9, "worker 0 told none since");

    JsonObject after =
        advance(
            List.of(
                RunStory.progress(RunStory.START + 3_000, 0, 1, 5),
                // The last report of the earlier incarnation arrives late, and twice.
                RunStory.progress(RunStory.START + 2_100, 0, 0, 21),
                RunStory.progress(RunStory.START + 2_100, 0, 0, 21),
                new ServerProgress(RunStory.START + 3_000, 0, 1, 25, 1, 10, 5, 6, 7, 8)));

    JsonObject worker = member(after, "worker", 0);
    assertEquals("{\"0\":26}", worker.getJsonObject("staleness").encode());
    assertEquals(26 * 128, worker.getLong("samples"));
    assertEquals(0.06 * 26, worker.getDouble("secondsComputing"), 1e-9);
    assertEquals(1, worker.getInteger("incarnation"));
    assertEquals(5, worker.getLong("version"), "a version is a place, not a count");
    JsonObject server = member(after, "server", 0);
    assertEquals(50, server.getLong("applied"));
    assertEquals(6, server.getLong("late"));
    assertEquals(12, server.getLong("refused"));
    assertEquals(26 * 128 + 20 * 128, samples(after), "20 steps of worker 1, and all of worker 0");
  }

  @Test
  void shouldNotForgetWhatManyIncarnationsCounted() {
    advance(RunStory.beginning());
    JsonObject last = null;
    for (int incarnation = 1; incarnation <= 20; incarnation++) {
      long now = RunStory.START + 1_000L * incarnation;
      last =
          advance(
              List.of(
                  new MemberJoined(now, Role.WORKER, 0, incarnation, "a pid 9", ""),
                  RunStory.progress(now, 0, incarnation, 3)));
    }

    assertEquals(60 * 128, member(last, "worker", 0).getLong("samples"));
  }

  @Test
  void shouldReportNoVitalsOfAMemberThatLeft() {
    advance(RunStory.beginning());
    assertTrue(member(advance(RunStory.after(10)), "worker", 0).containsKey("cores"));
    JsonObject gone =
        advance(
            List.of(
                new MemberLeft(9, Role.WORKER, 0, 0, "its process ended"),
                RunStory.vitals(9),
                RunStory.progress(RunStory.START + 2_000, 0, 0, 20)));

    JsonObject worker = member(gone, "worker", 0);
    for (String vital :
        List.of("cores", "heapBytes", "residentBytes", "roundTripMillis99", "computing")) {
      assertFalse(worker.containsKey(vital), worker::encode);
    }
    assertEquals(0, worker.getDouble("samplesPerSecond"));
    assertEquals(0, worker.getDouble("sentPerSecond"));
    assertEquals("lost", worker.getString("condition"));
  }

  @Test
  void shouldReportAWorkersOwnExchangeTime() {
    advance(RunStory.beginning());
    advance(RunStory.after(10));

    JsonObject both = advance(List.of(new PeerExchange(1, 0, 0, 10, 0.5, 77, 11, 0.5, 1, 0)));

    assertEquals(0.3, member(both, "worker", 0).getDouble("secondsExchanging"), 1e-9);
    assertEquals(0.5, member(both, "worker", 0).getDouble("hiddenShare"), 1e-9);
  }

  @Test
  void shouldStartASegmentAfterAPauseAndWithEachIncarnation() {
    JsonArray segments = new JsonArray();
    List<List<TrainingEvent>> story =
        List.of(
            RunStory.beginning(),
            RunStory.after(10),
            RunStory.after(11),
            RunStory.after(12),
            List.of(new JobPaused(RunStory.START + 1_201)),
            List.of(new JobResumed(RunStory.START + 1_301, 100)),
            RunStory.after(14),
            RunStory.after(15),
            List.of(
                new MemberLeft(RunStory.START + 1_501, Role.WORKER, 0, 0, "silent for 10000 ms"),
                new MemberJoined(RunStory.START + 1_502, Role.WORKER, 0, 1, "a pid 9", "")),
            List.of(RunStory.progress(RunStory.START + 1_600, 0, 1, 1)),
            List.of(RunStory.progress(RunStory.START + 1_700, 0, 1, 2)));
    for (List<TrainingEvent> window : story) {
      JsonObject point = advance(window).getJsonObject("history").getJsonObject("worker 0");
      if (point != null) {
        segments.add(point.getValue("segment"));
      }
    }

    // The first report of an incarnation has no rate, because none precedes it.
    assertEquals("[0,0,1,1,2]", segments.encode());
    JsonObject history = metrics.snapshot(0).getJsonObject("history");
    assertEquals("[0,0,1,1,2]", history.getJsonObject("worker 0").getJsonArray("segment").encode());
    assertEquals("[0,0,1,1]", history.getJsonObject("worker 1").getJsonArray("segment").encode());
    assertEquals(
        "[0,0,0,1,1]",
        new JsonArray(
                metrics.snapshot(0).getJsonArray("tests").stream()
                    .map(test -> ((JsonObject) test).getValue("segment"))
                    .toList())
            .encode());
  }

  @Test
  void shouldEndWithTheLastPartOfAResumedRun() {
    JobStarted started = new JobStarted(2_000, "sync", 2, 1, 1_960, 200, 200);
    JsonObject stopped =
        advance(List.of(new JobStopped(1_000, JobStopped.INTERRUPTED))).getJsonObject("state");
    assertEquals(1_000, stopped.getLong("endedMillis"));

    JsonObject goingOn = advance(List.of(started)).getJsonObject("state");
    assertFalse(goingOn.containsKey("endedMillis"), goingOn.encode());
    assertFalse(goingOn.containsKey("reason"), goingOn.encode());

    JsonObject over = advance(List.of(new JobFinished(3_000, 200, 25_600))).getJsonObject("state");
    assertEquals(3_000, over.getLong("endedMillis"));
  }

  @Test
  void shouldDistinguishAnInterruptedRunFromAStoppedOne() {
    assertEquals(
        "stopped",
        advance(List.of(new JobStopped(5, "asked for on the dashboard")))
            .getJsonObject("state")
            .getString("phase"));
    assertEquals(
        "interrupted",
        RunStory.metrics()
            .advance(List.of(new JobStopped(5, "interrupted")), 6)
            .getJsonObject("state")
            .getString("phase"));
  }

  private static long samples(JsonObject message) {
    return message.getJsonObject("state").getLong("samples");
  }

  private static long timeOf(List<TrainingEvent> report) {
    return report.get(0).timeMillis();
  }

  @Test
  void shouldReportOnlyChangedMembers() {
    advance(RunStory.beginning());

    JsonObject quiet = advance(List.of());
    JsonObject silence = advance(List.of(new MemberSuspected(1, Role.WORKER, 1, 0, 3_000)));

    assertEquals(0, quiet.getJsonArray("members").size());
    assertEquals(1, silence.getJsonArray("members").size());
    assertEquals("suspect", member(silence, "worker", 1).getString("condition"));
  }

  @Test
  void shouldTrustASuspectWhenItReportsAgain() {
    advance(RunStory.beginning());
    advance(List.of(new MemberSuspected(1, Role.WORKER, 1, 0, 3_000)));

    assertEquals("up", member(advance(RunStory.after(1)), "worker", 1).getString("condition"));
  }

  @Test
  void shouldReportAMemberAsLostUnlessItLeftInGoodOrder() {
    advance(RunStory.beginning());

    JsonObject gone =
        advance(
            List.of(
                new MemberLeft(1, Role.WORKER, 0, 0, "finished"),
                new MemberLeft(1, Role.WORKER, 1, 0, "silent for 10000 ms")));

    assertEquals("left", member(gone, "worker", 0).getString("condition"));
    assertEquals("lost", member(gone, "worker", 1).getString("condition"));
    assertEquals("silent for 10000 ms", member(gone, "worker", 1).getString("reason"));
  }

  @Test
  @Tag("slow")
  void shouldStayBoundedWhenARunIsLongAndNoisy() {
    advance(RunStory.beginning());
    int size = sizeAfter(3_000, 0);

    assertTrue(sizeAfter(6_000, 3_000) < 1.2 * size, "grows with the length of the run");
  }

  private int sizeAfter(int steps, int from) {
    for (int i = from + 1; i <= steps; i++) {
      advance(RunStory.after(i));
      int step = i;
      advance(
          IntStream.range(0, 20)
              .<TrainingEvent>mapToObj(p -> new UpdateRefused(step, 0, 1, step, p, "holds NaN"))
              .toList());
    }
    return metrics.snapshot(0).encode().length();
  }

  private JsonObject advance(List<TrainingEvent> window) {
    return metrics.advance(window, RunStory.START);
  }

  private static JsonObject member(JsonObject message, String role, int rank) {
    return message.getJsonArray("members").stream()
        .map(JsonObject.class::cast)
        .filter(m -> m.getString("role").equals(role) && m.getInteger("rank") == rank)
        .findFirst()
        .orElseThrow();
  }
}
