package io.vertigrad.benchmarks.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Contenders measured turn about, so that a machine that slows down slows all of them alike.
 *
 * <p>The first turn of each is warm-up and not counted.
 */
public final class Contest {

  /** Something that can be measured again and again. */
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

  /** Runs all contenders {@code repetitions} times, and once before that. */
  public Map<String, Repetitions> run(int repetitions) throws Exception {
    Map<String, List<Double>> measured = new LinkedHashMap<>();
    for (int turn = 0; turn <= repetitions; turn++) {
      for (Map.Entry<String, Contender> entry : contenders.entrySet()) {
        double figure = entry.getValue().measure();
        if (turn > 0) {
          measured.computeIfAbsent(entry.getKey(), name -> new ArrayList<>()).add(figure);
        }
      }
    }
    Map<String, Repetitions> results = new LinkedHashMap<>();
    measured.forEach((name, values) -> results.put(name, Repetitions.of(values)));
    return results;
  }
}
