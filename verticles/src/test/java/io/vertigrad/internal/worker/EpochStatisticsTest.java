package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.internal.worker.WorkerCounters.EpochStatistics;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Epochs of four steps with two samples each; the loss of a step is its number. */
class EpochStatisticsTest {

  private final EpochStatistics statistics = new EpochStatistics();

  @BeforeEach
  void beRankZero() {
    statistics.setRank(0);
  }

  @Test
  void shouldCountARepeatedStepOnceWhenAnotherIncarnationContinues() {
    train(0, 3);
    statistics.setRank(0);
    statistics.continueAt(2, 0);
    train(2, 4);

    assertEquals(new EpochStatistics.Sum(8, 1.5, 50, 40), statistics.end(1));
  }

  @Test
  void shouldCountAStepWhoseAnswerWasLostWhenTrainingContinues() {
    train(0, 3);
    statistics.recordGradient(3, 2, 3, 1);
    statistics.continueAt(4, 1);

    assertEquals(8, statistics.end(1).samples());
  }

  @Test
  void shouldReportAnEpochAgainAfterARollbackBehindItsEnd() {
    train(0, 4);
    statistics.end(1);
    train(4, 6);
    statistics.continueAt(1, 0);
    train(1, 4);

    assertEquals(8, statistics.end(1).samples());
    assertEquals(0, statistics.end(1).samples(), "it was told already");
  }

  @Test
  void shouldCountNothingForASkippedGradient() {
    train(0, 3);
    statistics.recordGradient(3, 2, Double.NaN, 0);
    statistics.recordLeftOut();

    assertEquals(new EpochStatistics.Sum(6, 1, 50, 30), statistics.end(1));
  }

  @Test
  void shouldDiscardTheReplicaOfAnotherRank() {
    train(0, 4);
    statistics.setRank(1);

    assertEquals(0, statistics.end(1).samples());
  }

  private void train(long first, long end) {
    for (long step = first; step < end; step++) {
      statistics.recordGradient(step, 2, step, 1);
      statistics.recordDuration(10);
    }
  }
}
