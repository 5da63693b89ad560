package io.vertigrad.benchmarks.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;

/** Measures contenders in turn, so that a machine that slows down slows all of them equally. */
public final class Contest {

  /** A measurement that can be repeated. */
  @FunctionalInterface
  public interface Contender {

    /** Measures once and returns the figure. */
    double measure() throws Exception;
  }

  private final Map<String, Contender> contenders = new LinkedHashMap<>();

  public Contest enter(String name, Contender contender) {
    contenders.put(name, contender);
    return this;
  }

  /** Runs all contenders {@code repetitions} times, and once before that to warm them up. */
  public Map<String, Repetitions> run(int repetitions) throws Exception {
    return run(1, repetitions);
  }

  /**
   * Runs contenders whose figure is a time, after a warm-up that lasts until none of them gets
   * faster.
   */
  public Map<String, Repetitions> runSettled(int repetitions) throws Exception {
    return runSettled(repetitions, time -> time);
  }

  /**
   * Runs contenders whose figure is a rate, after a warm-up that lasts until none of them gets
   * faster.
   */
  public Map<String, Repetitions> runSettledRates(int repetitions) throws Exception {
    return runSettled(repetitions, rate -> 1 / rate);
  }

  private Map<String, Repetitions> runSettled(int repetitions, DoubleUnaryOperator time)
      throws Exception {
    Map<String, Settling> settling = new LinkedHashMap<>();
    contenders.keySet().forEach(name -> settling.put(name, new Settling()));
    int warm = 0;
    while (!settling.values().stream().allMatch(Settling::isSettled)) {
      warm++;
      for (Map.Entry<String, Contender> entry : contenders.entrySet()) {
        double figure = measure("warm-up " + warm, entry);
        settling.get(entry.getKey()).took(time.applyAsDouble(figure));
      }
    }
    return run(0, repetitions);
  }

  /** Runs all contenders without a warm-up, for those that start anew every time. */
  public Map<String, Repetitions> runCold(int repetitions) throws Exception {
    return run(0, repetitions);
  }

  /**
   * Runs the turns and prints every figure at once: a benchmark may take long, or be stopped before
   * its end.
   */
  private Map<String, Repetitions> run(int warm, int repetitions) throws Exception {
    Map<String, List<Double>> measured = new LinkedHashMap<>();
    for (int turn = 0; turn < warm + repetitions; turn++) {
      for (Map.Entry<String, Contender> entry : contenders.entrySet()) {
        double figure = measure("turn " + (turn + 1), entry);
        if (turn >= warm) {
          measured.computeIfAbsent(entry.getKey(), name -> new ArrayList<>()).add(figure);
        }
      }
    }
    Map<String, Repetitions> results = new LinkedHashMap<>();
    measured.forEach((name, values) -> results.put(name, Repetitions.of(values)));
    return results;
  }

  private static double measure(String turn, Map.Entry<String, Contender> entry) throws Exception {
    double figure = entry.getValue().measure();
    System.err.printf(Locale.ROOT, "%s, %s: %,.1f%n", turn, entry.getKey(), figure);
    return figure;
  }
}
