package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests when advice appears and disappears; each report comes from both workers. */
final class RunAdviceTest {

  private static final long INTERVAL_MILLIS = 500;
  private static final int EARLY = (int) (RunAdvice.EARLY_MILLIS / INTERVAL_MILLIS);

  private final RunMetrics metrics = RunStory.metrics();
  private int reports;
  private double exchanged;
  private double computed;

  @BeforeEach
  void begin() {
    metrics.advance(RunStory.beginning(), RunStory.START);
  }

  @Test
  void shouldSayNothingInTheFirstSeconds() {
    report(Double.NaN, EARLY);
    assertEquals(List.of(), rules());

    report(Double.NaN, RunAdvice.HELD);
    assertEquals(List.of("diverges"), rules());
  }

  @Test
  void shouldShowAndHideARuleOnlyAfterSeveralReportsInSequence() {
    report(2, EARLY + 1);
    report(Double.NaN, RunAdvice.HELD - 1);
    assertEquals(List.of(), rules());
    report(2, 1);
    report(Double.NaN, RunAdvice.HELD - 1);
    assertEquals(List.of(), rules());
    report(Double.NaN, 1);
    assertEquals(List.of("diverges"), rules());

    report(2, RunAdvice.HELD - 1);
    assertEquals(List.of("diverges"), rules());
    report(2, 1);
    assertEquals(List.of(), rules());
  }

  @Test
  void shouldForgetTheLossOfAWorkerThatIsGone() {
    report(2, EARLY);
    reports++;
    metrics.advance(List.of(progress(0, 2), progress(1, Double.NaN)), now());
    metrics.advance(
        List.of(new MemberLeft(now(), Role.WORKER, 1, 0, "silent for 10000 ms")), now());
    for (int i = 0; i < 2 * RunAdvice.HELD; i++) {
      reports++;
      metrics.advance(List.of(progress(0, 2)), now());
    }

    assertEquals(List.of(), rules());
  }

  @Test
  void shouldCountAWorkerThatReportedLaterThanTheOthers() {
    metrics.advance(List.of(progress(0, 2)), now());
    report(2, 25, 0.9);

    assertEquals(List.of("exchanges"), rules());
    String found = advice().getJsonObject(0).getString("found");
    assertTrue(found.startsWith("Every worker exchanges"), found);
  }

  @Test
  void shouldKeepTheTextWhileItIsShownAndRenewItSometimes() {
    for (int i = 0; i < 40 + RunAdvice.HELD; i++) {
      report(2.0 / (i + 1), 1);
    }
    assertEquals(List.of("falls"), rules());
    String text = advice().encode();
    report(0.01, 3);
    assertEquals(text, advice().encode());
    for (int i = 0; i < RunAdvice.RENEWED; i++) {
      report(0.008 / (i + 1), 1);
    }
    assertFalse(text.equals(advice().encode()), text);
  }

  @Test
  void shouldSendWhatWasFoundAndWhatToTry() {
    report(Double.NaN, EARLY + RunAdvice.HELD);

    JsonObject first = advice().getJsonObject(0);

    assertEquals(List.of("found", "rule", "try"), first.fieldNames().stream().sorted().toList());
    assertEquals("diverges", first.getString("rule"));
    assertTrue(first.getString("try").startsWith("Lower `optimizer.learningRate`"));
  }

  @Test
  void shouldNotChangeWhileNothingIsReported() {
    report(Double.NaN, EARLY + RunAdvice.HELD);
    for (int i = 0; i < 2 * RunAdvice.HELD; i++) {
      metrics.advance(List.of(), RunStory.START);
    }

    assertEquals(List.of("diverges"), rules());
  }

  @Test
  void shouldJudgeTheWholeRunAtItsEnd() {
    // In the last seconds workers computed for most of the time; before, they exchanged.
    report(2.3, 70, 0.9);
    report(2.3, 60, 0.1);
    assertEquals(List.of("learnsNothing", "level"), rules());

    end(new JobFinished(now(), reports, 1));

    JsonArray advice = advice();
    assertEquals(List.of("learnsNothing", "exchanges"), rules(), "the two most important");
    assertEquals(
        "Every worker exchanged at least 53 % of the time.",
        advice.getJsonObject(1).getString("found"));
  }

  @Test
  void shouldSayAtTheEndWhatTheSummaryFound() {
    report(2.3, 70, 0.2);
    end(new JobFinished(now(), reports, 1));
    assertEquals(List.of("learnsNothing", "level"), rules());

    JsonObject baseline = JsonObject.of("metric", "", "value", 57.0, "answer", "class 3 always");
    metrics.summarize(JsonObject.of("state", "finished", "testSamples", 100, "baseline", baseline));
    baseline.put("beaten", false);
    metrics.advance(List.of(), now());

    assertEquals(List.of("guesses", "level"), rules());
    assertEquals(
        "The model is no better than guessing: class 3 always has accuracy 57.00 % on the test set.",
        advice().getJsonObject(0).getString("found"));
    assertEquals(baseline, metrics.snapshot(0).getJsonObject("state").getJsonObject("baseline"));
  }

  @Test
  void shouldLeaveTheReasonOfAFailureAlone() {
    report(Double.NaN, EARLY + RunAdvice.HELD);

    end(new JobFailed(now(), "worker 0: training diverged"));

    assertEquals(List.of(), rules());
  }

  @Test
  void shouldJudgeARunThatWasStopped() {
    report(Double.NaN, 3);
    assertEquals(List.of(), rules());

    end(new JobStopped(now(), JobStopped.INTERRUPTED));

    assertEquals(List.of("diverges"), rules());
  }

  @Test
  void shouldCountTheProcessorsThatTheMembersOfAMachineKeepBusy() {
    List<TrainingEvent> events = new ArrayList<>();
    for (int rank = 0; rank < 2; rank++) {
      String node = "a pid " + (2 + rank);
      events.add(new MemberJoined(now(), Role.WORKER, rank, 0, node, ""));
      events.add(
          new MemberVitals(
              now(),
              Role.WORKER,
              rank,
              0,
              node,
              new Vitals(Map.of(Vital.CORES, 0.9, Vital.PROCESSORS, 1.0), 0, Map.of())));
    }
    metrics.advance(events, now());
    report(2, EARLY + RunAdvice.HELD);

    assertEquals(List.of("tooManyWorkers"), rules());
    end(new JobFinished(now(), reports, 1));
    assertTrue(rules().contains("tooManyWorkers"), rules()::toString);
  }

  private void report(double loss, int times) {
    report(loss, times, 0.2);
  }

  /** Lets both workers report so many times, with this loss and share of exchanging. */
  private void report(double loss, int times, double exchanging) {
    for (int i = 0; i < times; i++) {
      reports++;
      exchanged += exchanging * INTERVAL_MILLIS / 1e3;
      computed += (1 - exchanging) * INTERVAL_MILLIS / 1e3;
      metrics.advance(List.of(progress(0, loss), progress(1, loss)), now());
    }
  }

  private WorkerProgress progress(int rank, double loss) {
    return new WorkerProgress(
        now(),
        rank,
        0,
        reports,
        reports,
        0,
        128L * reports,
        loss,
        Double.NaN,
        computed,
        exchanged,
        0,
        0,
        0,
        0,
        Map.of(0, (long) reports),
        Map.of(),
        Map.of());
  }

  private void end(TrainingEvent end) {
    metrics.advance(
        List.of(
            new MemberLeft(now(), Role.WORKER, 0, 0, MemberLeft.FINISHED),
            new MemberLeft(now(), Role.WORKER, 1, 0, MemberLeft.FINISHED),
            end),
        now());
  }

  private long now() {
    return RunStory.START + INTERVAL_MILLIS * reports;
  }

  private List<String> rules() {
    return advice().stream().map(one -> ((JsonObject) one).getString("rule")).toList();
  }

  private JsonArray advice() {
    return metrics.snapshot(0).getJsonObject("state").getJsonArray("advice", new JsonArray());
  }
}
