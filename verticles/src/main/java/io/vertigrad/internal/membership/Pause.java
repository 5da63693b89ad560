package io.vertigrad.internal.membership;

import io.vertigrad.internal.RecordJson.MayBeAbsent;
import io.vertigrad.strategy.EvaluationPlan;
import java.util.List;
import java.util.stream.Stream;

/**
 * The coordinator's instruction on how far training may go: whether the job is paused, and up to
 * which version it may go before a test that training waits for.
 *
 * @param number grows with every instruction; members ignore an older one
 * @param holdFrom no step starts at this version or a later one; {@link Long#MAX_VALUE} for none
 * @param testAt nobody passes this version before it was tested; {@link EvaluationPlan#NONE} when
 *     nothing waits for a test
 * @param testing true while that test runs; no member's limit passes meanwhile
 * @param saveAt the last few versions of which all members write a timed checkpoint, in the order
 *     in which they were chosen; members without common versions write one when there is another
 * @param ends true when no step will ever start again: all members have finished
 */
public record Pause(
    long number,
    long holdFrom,
    @MayBeAbsent(EvaluationPlan.NONE) long testAt,
    boolean testing,
    boolean ends,
    @MayBeAbsent List<Long> saveAt) {

  /** Versions to save that may lie ahead at the same time. */
  static final int MOST_SAVES = 8;

  public Pause {
    saveAt = List.copyOf(saveAt);
  }

  /** The instruction before the first pause. */
  public static final Pause NONE = new Pause(0, Long.MAX_VALUE);

  /** Creates an instruction of a job in which nothing waits for tests. */
  public Pause(long number, long holdFrom) {
    this(number, holdFrom, EvaluationPlan.NONE, false, false, List.of());
  }

  /** Returns whether the job is paused. */
  public boolean holds() {
    return holdFrom != Long.MAX_VALUE;
  }

  /** Returns whether time does not count against limits: during a pause and during a test. */
  boolean stopsClocks() {
    return (holds() && !ends) || testing;
  }

  /** Returns the next instruction, with another version to hold at. */
  Pause holding(long from) {
    return new Pause(number + 1, from, testAt, testing, ends, saveAt);
  }

  /** Returns the next instruction, with another version to test. */
  Pause testing(long at, boolean now) {
    return new Pause(number + 1, holdFrom, at, now, ends, saveAt);
  }

  /** Returns the last instruction: no step starts at this version or a later one any more. */
  Pause ending(long from) {
    return new Pause(number + 1, from, testAt, testing, true, saveAt);
  }

  /** Returns the next instruction, with one more version to save. */
  Pause saving(long at) {
    List<Long> all = Stream.concat(saveAt.stream().filter(v -> v != at), Stream.of(at)).toList();
    List<Long> last = all.subList(Math.max(0, all.size() - MOST_SAVES), all.size());
    return new Pause(number + 1, holdFrom, testAt, testing, ends, last);
  }
}
