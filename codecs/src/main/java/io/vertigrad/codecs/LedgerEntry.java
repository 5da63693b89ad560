package io.vertigrad.codecs;

import java.util.List;
import java.util.Objects;

/**
 * The outcomes of one worker's updates of one partition, as a server counts them and as checkpoints
 * hold them.
 *
 * @param rank rank of the worker, from 0
 * @param incarnation of the worker that sent the last update, from 0; steps of a rank beyond the
 *     job's configured ranks are counted from 0 for each incarnation
 * @param next the first step that was not processed
 * @param counts outcomes of the updates whose step is below {@code next}
 * @param refusedSteps steps from {@code next} on whose updates were refused for good
 */
public record LedgerEntry(
    int rank, int incarnation, long next, UpdateCounts counts, List<Long> refusedSteps) {

  /** Largest number of steps in {@code refusedSteps}. */
  public static final int MOST_REFUSED_STEPS = 64;

  /** Checks the numbers. */
  public LedgerEntry {
    FrameLimits.requireAtLeast("worker", rank, 0);
    FrameLimits.requireAtLeast("incarnation", incarnation, 0);
    FrameLimits.requireAtLeast("next", next, 0);
    Objects.requireNonNull(counts, "counts");
    refusedSteps = List.copyOf(refusedSteps);
    if (refusedSteps.size() > MOST_REFUSED_STEPS) {
      throw new IllegalArgumentException(
          "refusedSteps has %d entries, expected at most %d"
              .formatted(refusedSteps.size(), MOST_REFUSED_STEPS));
    }
    refusedSteps.forEach(step -> FrameLimits.requireAtLeast("refusedSteps", step, 0));
  }
}
