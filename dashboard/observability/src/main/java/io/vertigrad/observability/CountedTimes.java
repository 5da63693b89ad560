package io.vertigrad.observability;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.vertigrad.events.TimeBuckets;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * A histogram of times that another process has counted: reports have totals per bucket and their
 * sum. What is new since the last report is recorded in a timer of Micrometer, so that every kind
 * of registry has it. Used by one thread.
 *
 * <p>Single times are unknown. Each is recorded at the same relative place within its bucket, which
 * is chosen so that the sum is exact.
 */
final class CountedTimes {

  /**
   * Most times that one report adds. A report has more only if the meters were bound to a job that
   * had run for long; the older times are then left out.
   */
  private static final long MOST = 100_000;

  private static final long NANOS_PER_MICRO = 1_000;
  private static final double NANOS_PER_SECOND = 1e9;

  private final Timer timer;
  private int incarnation;
  private Map<Integer, Long> counts = Map.of();
  private long microsSum;
  private long equal;
  private double equalSeconds;

  CountedTimes(MeterRegistry registry, String name, Tags tags) {
    timer =
        Timer.builder(name)
            .tags(tags)
            .serviceLevelObjectives(
                TimeBuckets.BOUNDS.stream()
                    .map(micros -> Duration.ofNanos(micros * NANOS_PER_MICRO))
                    .toArray(Duration[]::new))
            .register(registry);
  }

  Timer timer() {
    return timer;
  }

  /**
   * Records what a report adds to the one before.
   *
   * @param totals number of times by the upper bound of their bucket, in microseconds; lower ones
   *     than before are of a process that has started anew
   * @param totalMicros sum of all times
   */
  void add(Map<Integer, Long> totals, long totalMicros) {
    if (counts.entrySet().stream()
        .anyMatch(each -> totals.getOrDefault(each.getKey(), 0L) < each.getValue())) {
      counts = Map.of();
      microsSum = 0;
    }
    Map<Integer, Long> fresh = new TreeMap<>();
    totals.forEach((bound, count) -> fresh.put(bound, count - counts.getOrDefault(bound, 0L)));
    if (fresh.values().stream().mapToLong(Long::longValue).sum() <= MOST) {
      recordAll(fresh, totalMicros - microsSum);
    }
    counts = Map.copyOf(totals);
    microsSum = totalMicros;
  }

  /**
   * Records what a report adds to the one before, as equal times. Nothing is recorded of the first
   * report of an incarnation, except the first of all, because it begins at an unknown count.
   *
   * @param from the incarnation that reports
   * @param total number of times
   * @param seconds sum of all times
   */
  void addEqual(int from, long total, double seconds) {
    if (from < incarnation) {
      return;
    }
    long count = total - equal;
    if (from == incarnation && count > 0 && count <= MOST) {
      recordEach(count, Math.round(NANOS_PER_SECOND * (seconds - equalSeconds) / count));
    }
    incarnation = from;
    equal = total;
    equalSeconds = seconds;
  }

  private void recordAll(Map<Integer, Long> fresh, long micros) {
    double left = micros;
    double width = 0;
    for (Map.Entry<Integer, Long> bucket : fresh.entrySet()) {
      left -= (double) bucket.getValue() * TimeBuckets.below(bucket.getKey());
    }
    for (Map.Entry<Integer, Long> bucket : fresh.entrySet()) {
      width += bucket.getValue() * width(bucket, left);
    }
    double place = width > 0 ? Math.max(0, Math.min(1, left / width)) : 0;
    for (Map.Entry<Integer, Long> bucket : fresh.entrySet()) {
      long lower = TimeBuckets.below(bucket.getKey()) * NANOS_PER_MICRO;
      long above = Math.round(NANOS_PER_MICRO * place * width(bucket, left));
      recordEach(bucket.getValue(), lower + Math.max(1, above));
    }
  }

  /** Returns the width of a bucket in microseconds; the last one reaches as far as it must. */
  private static double width(Map.Entry<Integer, Long> bucket, double left) {
    return bucket.getKey() == Integer.MAX_VALUE
        ? Math.max(0, left) / Math.max(1, bucket.getValue())
        : bucket.getKey() - TimeBuckets.below(bucket.getKey());
  }

  private void recordEach(long count, long nanos) {
    for (long i = 0; i < count; i++) {
      timer.record(nanos, TimeUnit.NANOSECONDS);
    }
  }
}
