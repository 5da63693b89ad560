package io.vertigrad.serving.internal;

import io.vertigrad.events.TimeBuckets;
import io.vertigrad.events.TrainingEvent.PredictorProgress;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** Counts what a predictor does. Any thread may use it. */
final class PredictorCounters {

  private static final int RECENT = 1_024;
  private static final double MILLIS = 1e6;
  private static final long MICRO = 1_000;

  private final String predictor;
  private final Map<Integer, Long> latencies = new TreeMap<>();
  private final long[] recent = new long[RECENT];
  private long microsSum;
  private long requests;
  private long predictions;
  private long passes;
  private long overloaded;
  private long invalid;
  private long swaps;

  PredictorCounters(String predictor) {
    this.predictor = predictor;
  }

  synchronized void answered(int samples, long nanos) {
    recent[(int) (requests % RECENT)] = nanos;
    requests++;
    predictions += samples;
    long micros = nanos / MICRO;
    microsSum += micros;
    latencies.merge(TimeBuckets.bound(micros), 1L, Long::sum);
  }

  synchronized void passed() {
    passes++;
  }

  synchronized void swapped() {
    swaps++;
  }

  synchronized void refused(Refusal.Code code) {
    if (code == Refusal.Code.OVERLOADED) {
      overloaded++;
    } else if (code == Refusal.Code.INVALID || code == Refusal.Code.TOO_LARGE) {
      invalid++;
    }
  }

  /** Returns a number that changes with every count. */
  synchronized long changes() {
    return requests + overloaded + invalid + swaps;
  }

  synchronized PredictorProgress progress(long version, long ageMillis, int waiting) {
    long[] sorted = Arrays.copyOf(recent, (int) Math.min(requests, RECENT));
    Arrays.sort(sorted);
    return new PredictorProgress(
        System.currentTimeMillis(),
        predictor,
        version,
        ageMillis,
        swaps,
        requests,
        predictions,
        passes,
        overloaded,
        invalid,
        waiting,
        quantile(sorted, 0.5),
        quantile(sorted, 0.99),
        microsSum,
        Map.copyOf(latencies));
  }

  private static double quantile(long[] sorted, double share) {
    return sorted.length == 0
        ? 0
        : sorted[(int) Math.min(sorted.length - 1, Math.floor(share * sorted.length))] / MILLIS;
  }
}
