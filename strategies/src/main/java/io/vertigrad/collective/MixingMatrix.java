package io.vertigrad.collective;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * The weights with which every worker averages parameters in one round: {@code x_i <- sum_j W_ij
 * x_j}.
 *
 * <p>Square, no entry below 0, every row and every column sums to 1 (doubly stochastic), so the
 * mean over the workers does not change. Immutable; rows and columns are ring positions, from 0.
 */
public final class MixingMatrix {

  /** Largest difference of a sum from 1, for weights written with a few decimals. */
  static final double TOLERANCE = 1e-5;

  /** A share that is smaller comes from rounding. */
  private static final double ROUNDING = 1e-12;

  /** The positions with a weight above 0 of each row, in order. */
  private final int[][] positions;

  private final double[][] shares;

  private MixingMatrix(int[][] positions, double[][] shares) {
    this.positions = positions;
    this.shares = shares;
  }

  private MixingMatrix(double[][] weights) {
    positions = new int[weights.length][];
    shares = new double[weights.length][];
    for (int i = 0; i < weights.length; i++) {
      double[] row = weights[i];
      positions[i] = IntStream.range(0, row.length).filter(j -> row[j] > 0).toArray();
      shares[i] = Arrays.stream(positions[i]).mapToDouble(j -> row[j]).toArray();
    }
  }

  /**
   * Checks and copies the weights. The difference of a row's sum from 1, within the tolerance, is
   * added to its diagonal.
   *
   * @param weights one row for each worker
   * @return the matrix
   * @throws IllegalArgumentException such as {@code row 2 sums to 0.9, expected 1}
   */
  public static MixingMatrix of(double[][] weights) {
    int size = weights.length;
    require(size > 0, () -> "has 0 rows, expected one per worker");
    double[][] copy = new double[size][];
    for (int i = 0; i < size; i++) {
      copy[i] = checkedRow(weights, i);
    }
    for (int j = 0; j < size; j++) {
      int column = j;
      double sum = Arrays.stream(copy).mapToDouble(row -> row[column]).sum();
      require(isOne(sum), () -> "column %s sums to %s, expected 1".formatted(column, shown(sum)));
    }
    return new MixingMatrix(copy);
  }

  /**
   * Returns a circulant matrix: each position has the same weight for the position at the same
   * offset. It is doubly stochastic when the shares sum to 1. Time and memory are proportional to
   * its entries.
   */
  static MixingMatrix circulant(int size, Map<Integer, Double> shareOfOffset) {
    int[][] positions = new int[size][];
    double[][] shares = new double[size][];
    for (int i = 0; i < size; i++) {
      SortedMap<Integer, Double> row = new TreeMap<>();
      int self = i;
      shareOfOffset.forEach(
          (offset, share) -> row.merge(Math.floorMod(self + offset, size), share, Double::sum));
      positions[i] = row.keySet().stream().mapToInt(Integer::intValue).toArray();
      shares[i] = row.values().stream().mapToDouble(Double::doubleValue).toArray();
    }
    return new MixingMatrix(positions, shares);
  }

  /**
   * Returns the matrix of a graph with these weights on its edges; every position keeps the rest
   * for itself. It is doubly stochastic when no position gives away more than 1.
   */
  static MixingMatrix symmetric(int size, List<BaseGraph.Edge> edges) {
    List<SortedMap<Integer, Double>> rows = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      rows.add(new TreeMap<>(Map.of(i, 1.0)));
    }
    for (BaseGraph.Edge edge : edges) {
      rows.get(edge.one()).put(edge.other(), edge.weight());
      rows.get(edge.other()).put(edge.one(), edge.weight());
      rows.get(edge.one()).merge(edge.one(), -edge.weight(), Double::sum);
      rows.get(edge.other()).merge(edge.other(), -edge.weight(), Double::sum);
    }
    int[][] positions = new int[size][];
    double[][] shares = new double[size][];
    for (int i = 0; i < size; i++) {
      SortedMap<Integer, Double> row = rows.get(i);
      row.values().removeIf(share -> share < ROUNDING);
      positions[i] = row.keySet().stream().mapToInt(Integer::intValue).toArray();
      shares[i] = row.values().stream().mapToDouble(Double::doubleValue).toArray();
    }
    return new MixingMatrix(positions, shares);
  }

  /**
   * Returns the number of workers.
   *
   * @return rows
   */
  public int size() {
    return positions.length;
  }

  /**
   * Returns the weight of one position's parameters in another's average.
   *
   * @param i the position that averages
   * @param j the position whose parameters are weighted
   * @return 0 to 1
   */
  public double weight(int i, int j) {
    int at = Arrays.binarySearch(positions[i], j);
    return at < 0 ? 0 : shares[i][at];
  }

  /**
   * Returns the positions whose parameters a position averages.
   *
   * @param i the position that averages
   * @return the other positions, in order
   */
  public int[] sources(int i) {
    return Arrays.stream(positions[i]).filter(j -> j != i).toArray();
  }

  /**
   * Returns the positions that average a position's parameters.
   *
   * @param i the position whose parameters are used
   * @return the other positions, in order
   */
  public int[] targets(int i) {
    return IntStream.range(0, size()).filter(j -> j != i && weight(j, i) > 0).toArray();
  }

  /**
   * Returns the matrix of this round followed by another.
   *
   * @param next the matrix of the later round
   * @return {@code next * this}
   */
  public MixingMatrix then(MixingMatrix next) {
    return new MixingMatrix(SquareMatrix.product(next.dense(), dense()));
  }

  /**
   * Returns the spectral radius of {@code W - J/N}, where J is all ones. Each round shrinks the
   * workers' distance from their mean by at least this factor. For a symmetric matrix it is the
   * second largest eigenvalue's magnitude. It costs some tens of products of N x N matrices.
   *
   * @return 0 to 1
   */
  public double secondEigenvalue() {
    int size = size();
    double[][] deviation = dense();
    for (double[] row : deviation) {
      for (int j = 0; j < size; j++) {
        row[j] -= 1.0 / size;
      }
    }
    return SquareMatrix.spectralRadius(deviation);
  }

  /**
   * Returns {@code 1 - secondEigenvalue()}.
   *
   * @return 1 when one round averages exactly, 0 when the workers never approach each other
   */
  public double spectralGap() {
    return 1 - secondEigenvalue();
  }

  private double[][] dense() {
    double[][] weights = new double[size()][size()];
    for (int i = 0; i < size(); i++) {
      for (int k = 0; k < positions[i].length; k++) {
        weights[i][positions[i][k]] = shares[i][k];
      }
    }
    return weights;
  }

  private static double[] checkedRow(double[][] weights, int i) {
    double[] row = weights[i].clone();
    require(
        row.length == weights.length,
        () -> "row %s has %s entries, expected %s".formatted(i, row.length, weights.length));
    for (int j = 0; j < row.length; j++) {
      int column = j;
      require(
          row[j] >= 0 && row[j] <= 1 + TOLERANCE,
          () ->
              "row %s, column %s is %s, expected 0 to 1".formatted(i, column, shown(row[column])));
    }
    double sum = Arrays.stream(row).sum();
    require(isOne(sum), () -> "row %s sums to %s, expected 1".formatted(i, shown(sum)));
    row[i] = Math.max(0, row[i] + 1 - sum);
    return row;
  }

  private static boolean isOne(double sum) {
    return Math.abs(sum - 1) <= TOLERANCE;
  }

  private static String shown(double value) {
    String text = String.format(Locale.ROOT, "%.6f", value);
    return text.replaceAll("0+$", "").replaceAll("\\.$", "");
  }

  private static void require(boolean condition, Supplier<String> message) {
    if (!condition) {
      throw new IllegalArgumentException(message.get());
    }
  }
}
