package io.vertigrad.verticles.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.verticles.metrics.TrainingEvent.JobPaused;
import io.vertigrad.verticles.metrics.TrainingEvent.JobResumed;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberLeft;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberSuspected;
import io.vertigrad.verticles.metrics.TrainingEvent.UpdateRefused;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class RunMetricsTest {

  private final RunMetrics metrics = RunStory.metrics();

  @Test
  void shouldNumberDeltasFromOneAndTellTheSameInTheSnapshot() {
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
  void shouldDivideWhatWasCountedByTheTimeBetweenReports() {
    advance(RunStory.beginning());
    advance(RunStory.after(10));
    JsonObject worker = member(advance(RunStory.after(20)), "worker", 0);

    // One second and ten steps lie between both reports.
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
  void shouldTellNoSpeedInAPauseAndNoneThatCountsIt() {
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

  private static long timeOf(List<TrainingEvent> report) {
    return report.get(0).timeMillis();
  }

  @Test
  void shouldTellOnlyOfMembersThatChanged() {
    advance(RunStory.beginning());

    JsonObject quiet = advance(List.of());
    JsonObject silence = advance(List.of(new MemberSuspected(1, "worker", 1, 0, 3_000)));

    assertEquals(0, quiet.getJsonArray("members").size());
    assertEquals(1, silence.getJsonArray("members").size());
    assertEquals("suspect", member(silence, "worker", 1).getString("condition"));
  }

  @Test
  void shouldCountASuspectAsWellWhenItIsHeardAgain() {
    advance(RunStory.beginning());
    advance(List.of(new MemberSuspected(1, "worker", 1, 0, 3_000)));

    assertEquals("up", member(advance(RunStory.after(1)), "worker", 1).getString("condition"));
  }

  @Test
  void shouldCallAMemberLostUnlessItLeftInGoodOrder() {
    advance(RunStory.beginning());

    JsonObject gone =
        advance(
            List.of(
                new MemberLeft(1, "worker", 0, 0, "finished"),
                new MemberLeft(1, "worker", 1, 0, "silent for 10000 ms")));

    assertEquals("left", member(gone, "worker", 0).getString("condition"));
    assertEquals("lost", member(gone, "worker", 1).getString("condition"));
    assertEquals("silent for 10000 ms", member(gone, "worker", 1).getString("reason"));
  }

  @Test
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
