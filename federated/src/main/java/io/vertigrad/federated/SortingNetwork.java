package io.vertigrad.federated;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * A fixed sequence of comparisons that sorts any numbers: Batcher's merge exchange (D. Knuth, The
 * Art of Computer Programming 3, algorithm 5.2.2M), without the comparisons that only decide ranks
 * that nobody asks for.
 *
 * <p>Immutable.
 */
final class SortingNetwork {

  /** Two wires for each comparison, in order: the smaller number goes to the first. */
  private final int[] comparisons;

  /**
   * Creates a network.
   *
   * @param wires number of inputs, at least 1
   * @param first lowest rank whose number must be right
   * @param end the rank after the highest one whose number must be right
   */
  SortingNetwork(int wires, int first, int end) {
    if (wires < 1 || first < 0 || end > wires || first >= end) {
      throw new IllegalArgumentException(
          "%s wires, ranks from %s to %s: expected ranks among the wires"
              .formatted(wires, first, end));
    }
    List<int[]> all = mergeExchange(wires);
    boolean[] needed = new boolean[wires];
    for (int rank = first; rank < end; rank++) {
      needed[rank] = true;
    }
    List<int[]> kept = new ArrayList<>();
    Collections.reverse(all);
    for (int[] pair : all) {
      if (needed[pair[0]] || needed[pair[1]]) {
        needed[pair[0]] = true;
        needed[pair[1]] = true;
        kept.add(pair);
      }
    }
    Collections.reverse(kept);
    comparisons = kept.stream().flatMapToInt(Arrays::stream).toArray();
  }

  /** Returns the number of comparisons. */
  int comparisons() {
    return comparisons.length / 2;
  }

  /**
   * Sorts {@code rows[0][k], rows[1][k], ..} for every k below the count. It moves whole rows to
   * other places of the outer array, too.
   *
   * @param rows one row per wire, and a spare one after them; finite elements
   */
  void sort(float[][] rows, int count) {
    int spare = rows.length - 1;
    for (int i = 0; i < comparisons.length; i += 2) {
      float[] low = rows[comparisons[i]];
      float[] high = rows[comparisons[i + 1]];
      // Two loops: the compiler vectorises only a loop with one result array.
      setMinima(rows[spare], low, high, count);
      updateMaxima(high, low, count);
      rows[comparisons[i]] = rows[spare];
      rows[spare] = low;
    }
  }

  private static void setMinima(float[] minima, float[] a, float[] b, int count) {
    for (int k = 0; k < count; k++) {
      minima[k] = Math.min(a[k], b[k]);
    }
  }

  private static void updateMaxima(float[] maxima, float[] other, int count) {
    for (int k = 0; k < count; k++) {
      maxima[k] = Math.max(maxima[k], other[k]);
    }
  }

  private static List<int[]> mergeExchange(int wires) {
    List<int[]> pairs = new ArrayList<>();
    int top = Math.max(1, Integer.highestOneBit(Math.max(1, wires - 1)));
    for (int p = top; p > 0; p /= 2) {
      int q = top;
      int r = 0;
      int d = p;
      while (true) {
        for (int i = 0; i < wires - d; i++) {
          if ((i & p) == r) {
            pairs.add(new int[] {i, i + d});
          }
        }
        if (q == p) {
          break;
        }
        d = q - p;
        q /= 2;
        r = p;
      }
    }
    return pairs;
  }
}
