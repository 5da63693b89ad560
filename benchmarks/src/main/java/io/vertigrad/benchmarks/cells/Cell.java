package io.vertigrad.benchmarks.cells;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One cell of the tables in {@code docs/measurements/}.
 *
 * @param name the benchmark and its case, from the general to the particular, such as {@code
 *     marginal, mlp b64, 2 workers, sync, processes}
 * @param figures what one measurement gives and a peer can give too
 * @param missing why it cannot be measured; empty when it can
 * @param measurement measures it once
 */
record Cell(String name, List<Figure> figures, Optional<String> missing, Measurement measurement) {

  /** Measures a cell once. */
  @FunctionalInterface
  interface Measurement {
    Map<Figure, Double> measure() throws Exception;
  }

  Cell {
    figures = List.copyOf(figures);
  }

  /**
   * Returns whether a key of a peer file names a cell: by its whole name or by the beginning of it
   * up to a comma.
   */
  static boolean isNamedBy(String key, String cell) {
    return cell.equals(key) || cell.startsWith(key + ", ");
  }
}
