package io.vertigrad.collective;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.TreeSet;

/** An undirected graph of workers, without loops or double edges. */
final class Graph {

  private final List<TreeSet<Integer>> neighbours = new ArrayList<>();

  /** Creates a graph without edges. */
  Graph(int size) {
    for (int i = 0; i < size; i++) {
      neighbours.add(new TreeSet<>());
    }
  }

  /** Adds an edge; an existing edge or a loop changes nothing. */
  void connect(int i, int j) {
    if (i != j) {
      neighbours.get(i).add(j);
      neighbours.get(j).add(i);
    }
  }

  /**
   * Returns Metropolis-Hastings weights: {@code W_ij = 1 / (1 + max(d_i, d_j))} along every edge,
   * where d is the number of neighbours, and the rest on the diagonal. Symmetric and doubly
   * stochastic.
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

  /** Returns the positions whose parameters reach {@code from}, itself included, in order. */
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
