package io.vertigrad.strategy;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.TreeSet;

/** An undirected graph of workers, without loops and without double edges. */
final class Graph {

  private final List<TreeSet<Integer>> neighbours = new ArrayList<>();

  /** Workers without edges. */
  Graph(int size) {
    for (int i = 0; i < size; i++) {
      neighbours.add(new TreeSet<>());
    }
  }

  /** Adds an edge; one that is there, or leads nowhere, changes nothing. */
  void connect(int i, int j) {
    if (i != j) {
      neighbours.get(i).add(j);
      neighbours.get(j).add(i);
    }
  }

  /**
   * Metropolis-Hastings weights: {@code W_ij = 1 / (1 + max(d_i, d_j))} along every edge, d the
   * number of neighbours, and the rest on the diagonal. Symmetric and doubly stochastic.
   *
   * @return the matrix, one row for each worker
   */
  MixingMatrix metropolis() {
    int size = neighbours.size();
    double[][] weights = new double[size][size];
    for (int i = 0; i < size; i++) {
      double rest = 1;
      for (int j : neighbours.get(i)) {
        weights[i][j] = 1.0 / (1 + Math.max(degree(i), degree(j)));
        rest -= weights[i][j];
      }
      weights[i][i] = Math.max(0, rest);
    }
    return MixingMatrix.of(weights);
  }

  /** Positions whose parameters reach {@code from}, itself included, in order. */
  static List<Integer> reachable(MixingMatrix matrix, int from) {
    TreeSet<Integer> seen = new TreeSet<>(List.of(from));
    Deque<Integer> open = new ArrayDeque<>(seen);
    while (!open.isEmpty()) {
      for (int next : matrix.sources(open.remove())) {
        if (seen.add(next)) {
          open.add(next);
        }
      }
    }
    return List.copyOf(seen);
  }

  private int degree(int i) {
    return neighbours.get(i).size();
  }
}
