package io.vertigrad.benchmarks.gpu;

import java.util.List;
import java.util.Optional;

/**
 * One row of the check.
 *
 * @param group the part of the check that it belongs to
 * @param name what is measured
 * @param unit of both figures
 * @param aim what the row should reach
 * @param limitSeconds the longest that one measurement may take
 * @param ours measures this program; fails when it does something wrong
 * @param peer measures a PyTorch program that does the same, if there is one
 * @param missing why the row cannot be measured here, if it cannot
 */
record CheckRow(
    Group group,
    String name,
    Unit unit,
    Aim aim,
    int limitSeconds,
    Measurement ours,
    Optional<Measurement> peer,
    Optional<String> missing) {

  /** The parts of the check, in their order. */
  enum Group {
    CORRECTNESS("Correctness"),
    STEPS("Steps"),
    JOBS("Whole jobs"),
    FAULTS("Faults"),
    MEMORY("Memory");

    static final List<Group> ALL = List.of(values());
    private final String title;

    Group(String title) {
      this.title = title;
    }

    String title() {
      return title;
    }
  }

  /** Units of figures. */
  enum Unit {
    RELATIVE("relative", false),
    POINTS("percentage points", false),
    MILLIS_PER_STEP("ms a step", false),
    CALLS_PER_STEP("CUDA calls a step", false),
    SAMPLES_PER_SECOND("samples/s", true),
    SECONDS("s", false),
    MEBIBYTES("MiB", false),
    DIFFERENT("different", false);

    private final String text;
    private final boolean higherIsBetter;

    Unit(String text, boolean higherIsBetter) {
      this.text = text;
      this.higherIsBetter = higherIsBetter;
    }

    /** Returns how many times as fast the first figure is as the second. */
    double ratio(double ours, double peer) {
      return higherIsBetter ? ours / peer : peer / ours;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  /**
   * A figure, and what a reader of it should know.
   *
   * @param value the figure
   * @param remark a short text; may be empty
   */
  record Figure(double value, String remark) {

    Figure(double value) {
      this(value, "");
    }
  }

  /** Measures one figure. */
  @FunctionalInterface
  interface Measurement {

    /**
     * Measures.
     *
     * @throws Exception when something went wrong; its message says what was found and expected
     */
    Figure measure(Sitting sitting) throws Exception;
  }

  /** Returns a row without a peer. */
  static CheckRow of(
      Group group, String name, Unit unit, Aim aim, int limitSeconds, Measurement ours) {
    return new CheckRow(
        group, name, unit, aim, limitSeconds, ours, Optional.empty(), Optional.empty());
  }

  CheckRow beside(Measurement program) {
    return new CheckRow(group, name, unit, aim, limitSeconds, ours, Optional.of(program), missing);
  }

  CheckRow missing(Optional<String> reason) {
    return new CheckRow(group, name, unit, aim, limitSeconds, ours, peer, reason);
  }
}
