package io.vertigrad.testkit;

import io.vertigrad.events.TrainingEvent.WorkerProgress;
import java.util.Map;

/** Makes progress of workers for tests that look at a few of its figures. */
public final class TestProgress {

  private TestProgress() {}

  /**
   * Makes the progress of a worker whose steps make one version each. Its accuracy is unknown; all
   * figures that are not given are 0.
   *
   * @param timeMillis wall-clock time in milliseconds since 1970
   * @param rank the worker's rank
   * @param incarnation how many times the rank had been admitted before
   * @param step its own step, and the version that it has seen
   * @param samples number of samples that it has trained on
   * @param loss mean training loss
   */
  public static WorkerProgress of(
      long timeMillis, int rank, int incarnation, long step, long samples, double loss) {
    return of(timeMillis, rank, incarnation, step, samples, loss, Map.of());
  }

  /** Makes such a progress with counts of applied gradients by staleness. */
  public static WorkerProgress of(
      long timeMillis,
      int rank,
      int incarnation,
      long step,
      long samples,
      double loss,
      Map<Integer, Long> staleness) {
    return new WorkerProgress(
        timeMillis,
        rank,
        incarnation,
        step,
        step,
        0,
        samples,
        loss,
        Double.NaN,
        0,
        0,
        0,
        0,
        0,
        0,
        staleness,
        Map.of(),
        Map.of());
  }
}
