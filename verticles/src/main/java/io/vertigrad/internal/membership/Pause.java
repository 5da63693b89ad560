package io.vertigrad.internal.membership;

import io.vertigrad.strategy.EvaluationPlan;

/**
 * The coordinator's word on whether training may go on: whether the job is paused, and up to which
 * version it may get before a test that training waits for.
 *
 * @param number grows with every word; an older one is not obeyed any more
 * @param holdFrom no step begins at this version or a later one; {@link Long#MAX_VALUE} for none
 * @param testAt no version follows this one before it was tested; {@link EvaluationPlan#NONE} when
 *     nothing waits for a test
 * @param testing true while that test goes on: nobody's limit passes meanwhile
 * @param saveAt version of which all members write a checkpoint, where they do so by time; 0 before
 *     the first
 * @param ends true when no step ever will begin again: whoever is there has finished
 */
public record Pause(
    long number, long holdFrom, long testAt, boolean testing, boolean ends, long saveAt) {

  /** Nobody has asked for a pause yet. */
  public static final Pause NONE = new Pause(0, Long.MAX_VALUE);

  /** A word of a job in which nothing waits for tests. */
  public Pause(long number, long holdFrom) {
    this(number, holdFrom, EvaluationPlan.NONE, false, false, 0);
  }

  /** True while the job is paused. */
  public boolean holds() {
    return holdFrom != Long.MAX_VALUE;
  }

  /** True while waiting for others counts for nothing: in a pause, and during a test. */
  boolean stopsClocks() {
    return (holds() && !ends) || testing;
  }

  /** The next word, on pauses. */
  Pause holding(long from) {
    return new Pause(number + 1, from, testAt, testing, ends, saveAt);
  }

  /** The next word, on tests. */
  Pause testing(long at, boolean now) {
    return new Pause(number + 1, holdFrom, at, now, ends, saveAt);
  }

  /** The last word: no step begins at this version or a later one any more. */
  Pause ending(long from) {
    return new Pause(number + 1, from, testAt, testing, true, saveAt);
  }

  /** The next word, on checkpoints. */
  Pause saving(long at) {
    return new Pause(number + 1, holdFrom, testAt, testing, ends, at);
  }
}
