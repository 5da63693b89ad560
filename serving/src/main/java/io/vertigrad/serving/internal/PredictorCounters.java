package io.vertigrad.serving.internal;

import io.vertigrad.events.TrainingEvent.PredictorProgress;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** Counts what a predictor does. Any thread may use it. */
final class PredictorCounters {

  /** Upper bounds of latencies in microseconds. */
  private static final int[] BOUNDS = {
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    Integer.MAX_VALUE
  };

  private static final int RECENT = 1_024;
  private static final double MILLIS = 1e6;
  private static final long MICRO = 1_000;

  private final String predictor;
  private final long[] latencies = new long[BOUNDS.length];
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
    int bucket = 0;
    while (micros > BOUNDS[bucket] && bucket < BOUNDS.length - 1) {
      bucket++;
    }
    latencies[bucket]++;
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
    Map<Integer, Long> byBound = new TreeMap<>();
    for (int i = 0; i < BOUNDS.length; i++) {
      byBound.put(BOUNDS[i], latencies[i]);
    }
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
        byBound);
  }

  private static double quantile(long[] sorted, double share) {
    return sorted.length == 0
        ? 0
        : sorted[(int) Math.min(sorted.length - 1, Math.floor(share * sorted.length))] / MILLIS;
  }
}
