package io.vertigrad.run;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.BinaryOperator;

/**
 * The newest report of each incarnation of one rank, and their total. Counters of a member begin at
 * 0 with each incarnation; their total never decreases. Only the newest {@value #INCARNATIONS}
 * incarnations may still report; older ones are kept as one sum. Single-threaded.
 *
 * @param <T> a report, an event with counters
 */
final class IncarnationReports<T> {

  static final int INCARNATIONS = 4;

  private final BinaryOperator<T> sum;
  private final TreeMap<Integer, T> newest = new TreeMap<>();
  private T settled;
  private int settledIncarnation = -1;

  /**
   * Creates an empty history.
   *
   * @param sum adds the counters of an earlier and a later incarnation, and keeps the rest of the
   *     later one
   */
  IncarnationReports(BinaryOperator<T> sum) {
    this.sum = sum;
  }

  /** Replaces the report of an incarnation; ignores one that is no longer expected to report. */
  void put(int incarnation, T report) {
    if (incarnation <= settledIncarnation) {
      return;
    }
    newest.put(incarnation, report);
    if (newest.size() > INCARNATIONS) {
      Map.Entry<Integer, T> oldest = newest.pollFirstEntry();
      settledIncarnation = oldest.getKey();
      settled = settled == null ? oldest.getValue() : sum.apply(settled, oldest.getValue());
    }
  }

  /** Returns the newest report of each of the newest incarnations, by incarnation. */
  Map<Integer, T> newest() {
    return newest;
  }

  /** Returns the sum over all incarnations; at least one has reported. */
  T total() {
    T total = settled;
    for (T report : newest.values()) {
      total = total == null ? report : sum.apply(total, report);
    }
    return total;
  }
}
