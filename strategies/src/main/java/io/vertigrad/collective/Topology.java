package io.vertigrad.collective;

import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * The neighbours of each worker and their weights, by round: one or several mixing matrices in
 * turn.
 *
 * <p>Over one period the spectral radius of {@code W - J/N} is below 1, so that all workers
 * approach their mean. Named topologies have this property by construction; others are checked.
 *
 * @param rounds the matrices of one period, in order
 */
public record Topology(List<MixingMatrix> rounds) {

  private static final double CONNECTED = 1 - 1e-9;
  private static final int CHECKED_SIZE = 256;

  /** The names of the built-in topologies; a job file may also give a matrix or a list of edges. */
  public static final List<String> NAMES =
      List.of("ring", "ring-deduplicated", "complete", "star", "torus", "exponential", "base-k");

  /**
   * Copies the matrices.
   *
   * @param rounds the matrices of one period, in order
   * @throws IllegalArgumentException when there is none
   */
  public Topology {
    rounds = List.copyOf(rounds);
    if (rounds.isEmpty()) {
      throw new IllegalArgumentException("has no mixing matrix, expected at least one");
    }
  }

  /**
   * Returns the fixed topology of an undirected graph, with Metropolis-Hastings weights.
   *
   * @param edges pairs of positions, each from 0; loops and repeated edges change nothing
   * @param workers number of positions
   * @return the same matrix in every round
   * @throws IllegalArgumentException when some workers cannot reach each other
   */
  public static Topology ofEdges(List<int[]> edges, int workers) {
    Graph graph = new Graph(workers);
    edges.forEach(edge -> graph.connect(edge[0], edge[1]));
    return of(graph.metropolis());
  }

  /**
   * Returns a topology by name.
   *
   * @param name one of {@link #NAMES}
   * @param workers number of positions
   * @return the topology
   * @throws IllegalArgumentException when no topology has this name
   */
  public static Topology named(String name, int workers) {
    return switch (name) {
      case "ring" -> fixed(ring(workers));
      case "ring-deduplicated" -> fixed(edges(workers, i -> new int[] {(i + 1) % workers}));
      case "complete" -> fixed(edges(workers, i -> IntStream.range(0, workers).toArray()));
      case "star" -> fixed(edges(workers, i -> new int[] {0}));
      case "torus" -> fixed(torus(workers));
      case "exponential" -> exponential(workers);
      case "base-k" -> baseK(workers, 1);
      default ->
          throw new IllegalArgumentException(
              "is \"%s\", expected one of %s".formatted(name, String.join(", ", NAMES)));
    };
  }

  /**
   * Returns the Base-(k+1) graph (Takezawa et al. 2023): all workers hold the exact mean after at
   * most {@code 2 log_(k+1)(workers) + 2} rounds.
   *
   * @param workers number of positions
   * @param degree k, the largest number of neighbours in a round, at least 1
   * @return the topology
   */
  public static Topology baseK(int workers, int degree) {
    return new Topology(BaseGraph.rounds(workers, degree));
  }

  /**
   * Returns the topology with the same matrix in every round.
   *
   * @param matrix weights of every round
   * @return the topology
   * @throws IllegalArgumentException when it does not connect all workers
   */
  public static Topology of(MixingMatrix matrix) {
    return fixed(matrix).checked();
  }

  /**
   * Returns the matrix of a round.
   *
   * @param round from 0
   * @return the matrix
   */
  public MixingMatrix at(long round) {
    return rounds.get((int) (round % rounds.size()));
  }

  /**
   * Returns the number of workers.
   *
   * @return positions
   */
  public int size() {
    return rounds.get(0).size();
  }

  /**
   * Returns by how much one round brings the workers closer, averaged over a period; see {@link
   * MixingMatrix#spectralGap()}.
   *
   * @return 0 to 1; NaN for more than {@value #CHECKED_SIZE} workers, where it would take seconds
   */
  public double spectralGap() {
    return size() > CHECKED_SIZE
        ? Double.NaN
        : 1 - Math.pow(period().secondEigenvalue(), 1.0 / rounds.size());
  }

  private static Topology fixed(MixingMatrix matrix) {
    return new Topology(List.of(matrix));
  }

  private Topology checked() {
    if (size() <= CHECKED_SIZE && period().secondEigenvalue() > CONNECTED) {
      throw new IllegalArgumentException(
          ("does not bring all workers together: the spectral radius of W - J/N is 1, expected"
                  + " below 1; %s")
              .formatted(reason()));
    }
    return this;
  }

  private MixingMatrix period() {
    return rounds.stream().reduce(MixingMatrix::then).orElseThrow();
  }

  private String reason() {
    List<Integer> reached = Graph.reachable(period(), 0);
    List<Integer> lost =
        IntStream.range(0, size()).boxed().filter(i -> !reached.contains(i)).toList();
    return lost.isEmpty()
        ? "give the workers a share of their own (a diagonal above 0)"
        : "workers %s exchange with none of %s".formatted(lost, reached);
  }

  /**
   * Returns the ring: a third each of left, self and right. With two workers, left and right are
   * the same.
   */
  private static MixingMatrix ring(int workers) {
    return MixingMatrix.circulant(workers, Map.of(-1, 1 / 3.0, 0, 1 / 3.0, 1, 1 / 3.0));
  }

  private static MixingMatrix edges(int workers, IntFunction<int[]> neighbours) {
    Graph graph = new Graph(workers);
    for (int i = 0; i < workers; i++) {
      for (int j : neighbours.apply(i)) {
        graph.connect(i, j);
      }
    }
    return graph.metropolis();
  }

  /**
   * Returns the most nearly square grid that holds all workers, wrapped around in both directions.
   */
  private static MixingMatrix torus(int workers) {
    int rows = (int) Math.sqrt(workers);
    while (workers % rows != 0) {
      rows--;
    }
    int columns = workers / rows;
    int height = rows;
    return edges(
        workers,
        i -> {
          int row = i / columns;
          int column = i % columns;
          return new int[] {
            row * columns + (column + 1) % columns, (row + 1) % height * columns + column
          };
        });
  }

  /**
   * Returns one peer per round, 2^t positions further on: Assran et al. 2019, Ying et al. 2021.
   * With a power of two the workers agree exactly after log2(N) rounds.
   */
  private static Topology exponential(int workers) {
    int period = Math.max(1, 32 - Integer.numberOfLeadingZeros(workers - 1));
    return new Topology(
        IntStream.range(0, period)
            .mapToObj(t -> MixingMatrix.circulant(workers, Map.of(0, 0.5, 1 << t, 0.5)))
            .toList());
  }
}
