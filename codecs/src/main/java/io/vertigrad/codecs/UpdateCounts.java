package io.vertigrad.codecs;

import io.vertigrad.codecs.ParameterPartition.Outcome;

/**
 * The number of updates by outcome. An update is one worker's gradient of one partition and counts
 * once, however often it is sent.
 *
 * @param applied updates that are in the parameters
 * @param late updates that came after their round, or after the last version
 * @param tooStale updates older than the strategy's bound
 * @param refused updates that were refused for good
 * @param skipped steps that were passed without an update
 */
public record UpdateCounts(long applied, long late, long tooStale, long refused, long skipped) {

  /** No updates. */
  public static final UpdateCounts NONE = new UpdateCounts(0, 0, 0, 0, 0);

  private static final UpdateCounts ONE_APPLIED = new UpdateCounts(1, 0, 0, 0, 0);
  private static final UpdateCounts ONE_LATE = new UpdateCounts(0, 1, 0, 0, 0);
  private static final UpdateCounts ONE_TOO_STALE = new UpdateCounts(0, 0, 1, 0, 0);

  /** Checks that no count is negative. */
  public UpdateCounts {
    long least = Math.min(Math.min(applied, late), Math.min(tooStale, Math.min(refused, skipped)));
    FrameLimits.requireAtLeast("a count", least, 0);
  }

  /**
   * Returns the count of one update that was processed.
   *
   * @param outcome how it ended; an update after the last version counts as late
   * @return 1 for this outcome
   */
  public static UpdateCounts of(Outcome outcome) {
    return switch (outcome) {
      case APPLIED -> ONE_APPLIED;
      case TOO_STALE -> ONE_TOO_STALE;
      default -> ONE_LATE;
    };
  }

  /**
   * Adds other updates.
   *
   * @param more their counts
   * @return the sum
   */
  public UpdateCounts plus(UpdateCounts more) {
    return new UpdateCounts(
        applied + more.applied,
        late + more.late,
        tooStale + more.tooStale,
        refused + more.refused,
        skipped + more.skipped);
  }

  /**
   * Adds steps whose updates were refused, and steps without an update.
   *
   * @param moreRefused number of updates that were refused for good
   * @param moreSkipped number of steps that were passed without an update
   * @return the sum
   */
  public UpdateCounts plus(long moreRefused, long moreSkipped) {
    return new UpdateCounts(applied, late, tooStale, refused + moreRefused, skipped + moreSkipped);
  }

  /**
   * Returns how many updates have arrived, whatever their outcome.
   *
   * @return all updates except skipped steps, which had none
   */
  public long arrived() {
    return applied + late + tooStale + refused;
  }
}
