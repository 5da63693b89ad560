package io.vertigrad.training;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.training.TrainingResult.State;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class TrainingHistoryTest {

  private long nowNanos;
  private final TrainingHistory history = new TrainingHistory(() -> nowNanos);

  @Test
  void shouldLeaveOutPausesWhenTheDurationIsMeasured() {
    at(5).apply(new JobStarted(0, "sync", 2, 1, 10, 100, 100));
    at(9).apply(new JobResumed(0, 3_000));
    at(15).apply(new JobFinished(0, 100, 800));
    at(60);

    assertEquals(Duration.ofSeconds(7), result().duration());
  }

  @Test
  void shouldKeepTheBestOfAllTestsAndTheLastOfTheWholeTestSet() {
    history.apply(new Evaluated(0, 10, 500, 0.9, 70, false, "a"));
    history.apply(new Evaluated(0, 20, 500, 0.4, 88, false, "b"));
    Evaluated whole = new Evaluated(0, 30, 2_000, 0.5, 86, true, "c");
    history.apply(whole);
    history.apply(new Evaluated(0, 40, 500, 0.6, 80, false, "d"));

    assertEquals(88, result().bestAccuracy());
    assertEquals(0.4, result().bestLoss());
    assertEquals(Optional.of(whole), history.wholeTestSet());
  }

  @Test
  void shouldHaveNoFiguresWhenNothingWasTested() {
    TrainingResult result = result();

    assertTrue(Double.isNaN(result.bestAccuracy()) && Double.isNaN(result.accuracy()));
    assertEquals(Duration.ZERO, result.duration());
    assertEquals("", result.parametersHash());
  }

  private TrainingHistory at(long seconds) {
    nowNanos = TimeUnit.SECONDS.toNanos(seconds);
    return history;
  }

  private TrainingResult result() {
    return history.result(State.FINISHED, 100, 800, Optional.empty(), "");
  }
}
