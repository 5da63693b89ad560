package io.vertigrad.benchmarks.cells;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** A quantity in the measurement of a cell. */
enum Figure {
  SAMPLES_PER_SECOND("samplesPerSecond", "samples/s", true),
  /** Million parameters that all workers send and receive. */
  MILLION_PARAMETERS_PER_SECOND("millionParametersPerSecond", "M/s", true),
  /** Elapsed time of a round, a sum or a gradient step. */
  WALL_MILLIS_PER_ROUND("wallMillisPerRound", "ms, wall", false),
  /** User and system time of all processes for a round of all workers. */
  CPU_MILLIS_PER_ROUND("cpuMillisPerRound", "ms, CPU", false),
  /** Elapsed time of a whole command. */
  SECONDS("seconds", "s, wall", false),
  /** User and system time of all processes of a whole command. */
  CPU_SECONDS("cpuSeconds", "s, CPU", false);

  private final String key;
  private final String unit;
  private final boolean higherIsBetter;

  Figure(String key, String unit, boolean higherIsBetter) {
    this.key = key;
    this.unit = unit;
    this.higherIsBetter = higherIsBetter;
  }

  static Optional<Figure> of(String key) {
    return Arrays.stream(values()).filter(figure -> figure.key.equals(key)).findFirst();
  }

  /** Returns the keys of some figures, for errors. */
  static String keys(List<Figure> figures) {
    return String.join(", ", figures.stream().map(Figure::key).toList());
  }

  /** Returns the name in JSON. */
  String key() {
    return key;
  }

  String unit() {
    return unit;
  }

  boolean higherIsBetter() {
    return higherIsBetter;
  }
}
