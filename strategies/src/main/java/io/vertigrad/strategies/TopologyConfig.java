package io.vertigrad.strategies;

import io.vertigrad.collective.MixingMatrix;
import io.vertigrad.collective.Topology;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.PeerGroup;
import io.vertx.core.json.JsonArray;
import java.util.List;
import java.util.Optional;

/**
 * The topology that a job file configures.
 *
 * @param name one of {@link Topology#NAMES}; used when the workers are not those that a matrix or a
 *     list of edges was written for
 * @param degree most neighbours of a worker in a round of {@code base-k}
 * @param mixing a matrix from the job file, by rank
 * @param edges pairs of ranks that exchange, with Metropolis-Hastings weights
 */
public record TopologyConfig(
    String name, int degree, Optional<MixingMatrix> mixing, Optional<List<int[]>> edges) {

  private static final String BASE_K = "base-k";

  /** The highest rank of the largest allowed job; it bounds the matrix that is built from edges. */
  private static final int MOST_RANK = 4095;

  private static final int SHOWN_CHARACTERS = 80;

  static TopologyConfig named(String name) {
    return new TopologyConfig(name, 1, Optional.empty(), Optional.empty());
  }

  /** Reads {@code topology}, {@code degree}, {@code mixing} and {@code edges}. */
  public static TopologyConfig read(Settings settings) {
    String name = settings.choice("topology", "ring", Topology.NAMES.toArray(String[]::new));
    int degree = settings.integer("degree", 1, 1, MOST_RANK);
    if (degree > 1 && !name.equals(BASE_K)) {
      throw settings.refuse(
          "degree", "is %s with topology %s, expected %s".formatted(degree, name, BASE_K));
    }
    return new TopologyConfig(name, degree, mixing(settings), edges(settings));
  }

  /** Returns whether the weights are the same in every round, whatever the number of workers. */
  boolean isFixed() {
    return !name.equals(BASE_K) && !name.equals("exponential");
  }

  /**
   * Returns the topology of these workers: the job file's for ranks 0 to n-1, otherwise the named
   * one.
   */
  public Topology over(PeerGroup group) {
    int size = group.size();
    boolean complete = group.ranks().get(size - 1) == size - 1;
    if (complete && mixing.isPresent() && mixing.get().size() == size) {
      return Topology.of(mixing.get());
    }
    if (complete && edges.isPresent() && size > largestRank(edges.get())) {
      return Topology.ofEdges(edges.get(), size);
    }
    return name.equals(BASE_K) ? Topology.baseK(size, degree) : Topology.named(name, size);
  }

  private static Optional<MixingMatrix> mixing(Settings settings) {
    if (!settings.has("mixing")) {
      return Optional.empty();
    }
    try {
      double[][] rows = numbers((JsonArray) settings.toJson().getValue("mixing"));
      MixingMatrix matrix = MixingMatrix.of(rows);
      Topology.of(matrix);
      return Optional.of(matrix);
    } catch (ClassCastException notRows) {
      throw settings.refuse("mixing", "is not a list of rows, expected [[0.5, 0.5], [0.5, 0.5]]");
    } catch (IllegalArgumentException wrong) {
      throw settings.refuse("mixing", wrong.getMessage());
    }
  }

  private static Optional<List<int[]>> edges(Settings settings) {
    if (!settings.has("edges")) {
      return Optional.empty();
    }
    if (settings.has("mixing")) {
      throw settings.refuse("edges", "is given beside mixing, expected one of them");
    }
    try {
      List<int[]> edges =
          ((JsonArray) settings.toJson().getValue("edges"))
              .stream().map(JsonArray.class::cast).map(TopologyConfig::edge).toList();
      Topology.ofEdges(edges, largestRank(edges) + 1);
      return Optional.of(edges);
    } catch (ClassCastException notPairs) {
      throw settings.refuse("edges", "is not a list of pairs, expected [[0, 1], [1, 2]]");
    } catch (IllegalArgumentException wrong) {
      throw settings.refuse("edges", wrong.getMessage());
    }
  }

  private static int[] edge(JsonArray pair) {
    boolean ranks =
        pair != null && pair.size() == 2 && pair.stream().allMatch(TopologyConfig::isRank);
    if (!ranks) {
      throw new IllegalArgumentException(
          "holds %s, expected pairs of ranks from 0 to %s"
              .formatted(shown(String.valueOf(pair)), MOST_RANK));
    }
    return pair.stream().mapToInt(rank -> ((Number) rank).intValue()).toArray();
  }

  private static int largestRank(List<int[]> edges) {
    return edges.stream().mapToInt(edge -> Math.max(edge[0], edge[1])).max().orElse(0);
  }

  private static double[][] numbers(JsonArray rows) {
    return rows.stream()
        .map(JsonArray.class::cast)
        .map(TopologyConfig::row)
        .toArray(double[][]::new);
  }

  private static double[] row(JsonArray row) {
    if (row == null || row.stream().anyMatch(value -> !(value instanceof Number))) {
      throw new IllegalArgumentException(
          "holds %s, expected rows of numbers such as [[0.5, 0.5], [0.5, 0.5]]"
              .formatted(shown(String.valueOf(row))));
    }
    return row.stream().mapToDouble(value -> ((Number) value).doubleValue()).toArray();
  }

  private static boolean isRank(Object value) {
    return value instanceof Number rank
        && rank.doubleValue() == Math.rint(rank.doubleValue())
        && rank.doubleValue() >= 0
        && rank.doubleValue() <= MOST_RANK;
  }

  private static String shown(String text) {
    return text.length() > SHOWN_CHARACTERS ? text.substring(0, SHOWN_CHARACTERS) + "..." : text;
  }
}
