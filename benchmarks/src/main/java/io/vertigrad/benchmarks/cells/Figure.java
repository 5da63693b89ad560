package io.vertigrad.benchmarks.cells;

import io.vertigrad.benchmarks.process.ThreadKind;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** A quantity in the measurement of a cell. */
enum Figure {
  /** Of the first rounds of training. */
  FIRST_SAMPLES_PER_SECOND("firstSamplesPerSecond", "samples/s, first", true),
  FIRST_WALL_MILLIS_PER_ROUND("firstWallMillisPerRound", "ms, wall, first", false),
  FIRST_CPU_MILLIS_PER_ROUND("firstCpuMillisPerRound", "ms, CPU, first", false),
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
  CPU_SECONDS("cpuSeconds", "s, CPU", false),
  /** The round from which the figures of training are that do not begin with {@code FIRST}. */
  STEADY_FROM_ROUND("steadyFromRound", "round, steady from", false),
  /** The compilers' part of the processor time before that round. */
  COMPILER_SHARE(Optional.empty(), "compilerShareBefore", "compilers before"),
  EVENT_LOOPS(ThreadKind.EVENT_LOOPS),
  WORKERS(ThreadKind.WORKERS),
  STRATEGIES(ThreadKind.STRATEGIES),
  COMPILERS(ThreadKind.COMPILERS),
  COLLECTORS(ThreadKind.COLLECTORS),
  OTHERS(ThreadKind.OTHERS);

  /** What training is measured by, and what may be compared with a peer. */
  static final List<Figure> TRAINING =
      List.of(
          FIRST_SAMPLES_PER_SECOND,
          FIRST_WALL_MILLIS_PER_ROUND,
          FIRST_CPU_MILLIS_PER_ROUND,
          SAMPLES_PER_SECOND,
          WALL_MILLIS_PER_ROUND,
          CPU_MILLIS_PER_ROUND);

  private final String key;
  private final String unit;
  private final boolean higherIsBetter;
  private final Optional<ThreadKind> threads;
  private final boolean inTable;

  Figure(String key, String unit, boolean higherIsBetter) {
    this.key = key;
    this.unit = unit;
    this.higherIsBetter = higherIsBetter;
    this.threads = Optional.empty();
    this.inTable = true;
  }

  /** Creates a figure that has no row of its own. */
  Figure(Optional<ThreadKind> threads, String key, String unit) {
    this.key = key;
    this.unit = unit;
    this.higherIsBetter = false;
    this.threads = threads;
    this.inTable = false;
  }

  /** Creates the milliseconds of processor time that threads of a kind take in a round. */
  Figure(ThreadKind threads) {
    this(Optional.of(threads), threads.key() + "MillisPerRound", threads.label());
  }

  static Optional<Figure> of(String key) {
    return Arrays.stream(values()).filter(figure -> figure.key.equals(key)).findFirst();
  }

  /** Returns the figures with a row each in a report. */
  static List<Figure> rows() {
    return Arrays.stream(values()).filter(figure -> figure.inTable).toList();
  }

  /** Returns the figures of processor time by kind of thread. */
  static List<Figure> ofThreads() {
    return Arrays.stream(values()).filter(figure -> figure.threads.isPresent()).toList();
  }

  /** Returns the keys of some figures, for errors. */
  static String keys(List<Figure> figures) {
    return String.join(", ", figures.stream().map(Figure::key).toList());
  }

  /** Returns the name in JSON. */
  String key() {
    return key;
  }

  /** Returns the unit; of threads their kind. */
  String unit() {
    return unit;
  }

  boolean higherIsBetter() {
    return higherIsBetter;
  }

  /** Returns the threads whose processor time this is, if it is that of some only. */
  Optional<ThreadKind> threads() {
    return threads;
  }
}
