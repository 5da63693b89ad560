package io.vertigrad.benchmarks.report;

import java.util.ArrayList;
import java.util.List;

/**
 * Detects when repeated times have stopped falling. That is so when the median of the last {@value
 * #WINDOW} is not 5 % below that of the {@value #WINDOW} before, or after {@value #MOST} times.
 */
final class Settling {

  private static final int WINDOW = 3;
  private static final int MOST = 24;
  private static final double STILL_FALLING = 0.95;

  private final List<Double> times = new ArrayList<>();

  void took(double time) {
    times.add(time);
  }

  boolean isSettled() {
    int end = times.size();
    return end >= MOST
        || end >= 2 * WINDOW
            && median(end - WINDOW, end) > STILL_FALLING * median(end - 2 * WINDOW, end - WINDOW);
  }

  private double median(int from, int to) {
    return Repetitions.of(times.subList(from, to)).median();
  }
}
