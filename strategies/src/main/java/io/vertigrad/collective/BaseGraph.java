package io.vertigrad.collective;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The Base-(k+1) graph of Takezawa et al. 2023: rounds in which no worker has more than k
 * neighbours, and after which all workers hold the exact mean, for any number of workers.
 *
 * <p>A number of workers whose prime factors are at most k + 1 needs one round for each factor: in
 * each, groups of that size average. Any other number is written in base k + 1, {@code n = sum_l
 * a_l (k+1)^p_l}:
 *
 * <ol>
 *   <li>Every set l of {@code a_l (k+1)^p_l} workers averages.
 *   <li>Set by set, from the largest, each of its {@code a_l} parts exchanges with all smaller
 *       sets, with such weights that the mean of every part is that of all workers.
 *   <li>Every part of {@code (k+1)^p_l} workers averages.
 * </ol>
 */
final class BaseGraph {

  private final int base;

  private BaseGraph(int degree) {
    this.base = degree + 1;
  }

  /** A pair of workers that exchange, each with this weight of the other. */
  record Edge(int one, int other, double weight) {}

  /** Returns the matrices of one period; a single identity for a single worker. */
  static List<MixingMatrix> rounds(int workers, int degree) {
    BaseGraph graph = new BaseGraph(degree);
    List<List<Edge>> rounds = graph.shortest(IntStream.range(0, workers).toArray());
    return rounds.isEmpty()
        ? List.of(MixingMatrix.symmetric(workers, List.of()))
        : rounds.stream().map(edges -> MixingMatrix.symmetric(workers, edges)).toList();
  }

  /**
   * Returns the shorter of two schedules: for all workers at once, or first within equal sets and
   * then across them, with as many sets as the small prime factors allow.
   */
  private List<List<Edge>> shortest(int[] workers) {
    List<List<Edge>> atOnce = byDigits(workers);
    int sets = smooth(workers.length);
    if (sets == 1 || sets == workers.length) {
      return atOnce;
    }
    int size = workers.length / sets;
    List<List<Edge>> inTwo = new ArrayList<>();
    for (int set = 0; set < sets; set++) {
      merge(inTwo, 0, byDigits(Arrays.copyOfRange(workers, set * size, (set + 1) * size)));
    }
    int across = inTwo.size();
    for (int place = 0; place < size; place++) {
      int first = place;
      int[] one = IntStream.range(0, sets).map(set -> workers[set * size + first]).toArray();
      merge(inTwo, across, average(one, factors(sets).orElseThrow()));
    }
    return inTwo.size() < atOnce.size() ? inTwo : atOnce;
  }

  private List<List<Edge>> byDigits(int[] workers) {
    Optional<List<Integer>> factors = factors(workers.length);
    if (factors.isPresent()) {
      return average(workers, factors.get());
    }
    List<Part> parts = parts(workers);
    List<List<Edge>> rounds = new ArrayList<>();
    for (Part part : parts) {
      merge(rounds, 0, average(part.workers(), factors(part.workers().length).orElseThrow()));
    }
    int first = rounds.size();
    int rest = workers.length;
    for (int l = 0; l < parts.size() - 1; l++) {
      Part part = parts.get(l);
      int[] smaller = Arrays.copyOfRange(workers, workers.length - rest, workers.length);
      rest -= part.workers().length;
      merge(rounds, first + l, List.of(exchange(part, smaller)));
      for (int copy = 0; copy < part.copies(); copy++) {
        merge(rounds, first + l + 1, average(part.copy(copy), factors(part.size()).orElseThrow()));
      }
    }
    return rounds;
  }

  /**
   * A set of {@code copies * size} workers, where the size is a power of the base.
   *
   * @param workers all of them
   */
  private record Part(int[] workers, int copies, int size) {

    int[] copy(int index) {
      return Arrays.copyOfRange(workers, index * size, (index + 1) * size);
    }
  }

  /** Cuts the workers into one set for each digit of their number, the largest first. */
  private List<Part> parts(int[] workers) {
    int power = 1;
    while (power <= workers.length / base) {
      power *= base;
    }
    List<Part> parts = new ArrayList<>();
    int start = 0;
    for (int size = power; size > 0; size /= base) {
      int copies = (workers.length - start) / size;
      if (copies > 0) {
        int end = start + copies * size;
        parts.add(new Part(Arrays.copyOfRange(workers, start, end), copies, size));
        start = end;
      }
    }
    return parts;
  }

  /**
   * Connects every worker of the smaller sets with one worker of each copy.
   *
   * @param all the workers of the part, followed by those of the smaller sets
   */
  private static List<Edge> exchange(Part part, int[] all) {
    double weight = (double) part.size() / all.length;
    List<Edge> edges = new ArrayList<>();
    for (int i = 0; i < all.length - part.workers().length; i++) {
      for (int copy = 0; copy < part.copies(); copy++) {
        edges.add(new Edge(part.copy(copy)[i], all[part.workers().length + i], weight));
      }
    }
    return edges;
  }

  /** Returns one round for each factor of the number of workers. Their order decides the groups. */
  private static List<List<Edge>> average(int[] workers, List<Integer> factors) {
    List<List<Edge>> rounds = new ArrayList<>();
    int stride = 1;
    for (int factor : factors) {
      List<Edge> edges = new ArrayList<>();
      for (int i = 0; i < workers.length; i++) {
        int digit = i / stride % factor;
        for (int more = 1; digit + more < factor; more++) {
          edges.add(new Edge(workers[i], workers[i + more * stride], 1.0 / factor));
        }
      }
      rounds.add(edges);
      stride *= factor;
    }
    return rounds;
  }

  /** Adds the rounds of other workers to those from {@code first} on. */
  private static void merge(List<List<Edge>> rounds, int first, List<List<Edge>> others) {
    for (int round = 0; round < others.size(); round++) {
      while (rounds.size() <= first + round) {
        rounds.add(new ArrayList<>());
      }
      rounds.get(first + round).addAll(others.get(round));
    }
  }

  /** Returns the fewest factors up to the base whose product is a number; empty if none are. */
  private Optional<List<Integer>> factors(int number) {
    if (number == 1) {
      return Optional.of(List.of());
    }
    List<Integer> fewest = null;
    for (int factor = Math.min(base, number); factor > 1; factor--) {
      Optional<List<Integer>> rest =
          number % factor == 0 ? factors(number / factor) : Optional.empty();
      if (rest.isPresent() && (fewest == null || rest.get().size() + 1 < fewest.size())) {
        fewest = new ArrayList<>(rest.get());
        fewest.add(factor);
      }
    }
    return Optional.ofNullable(fewest);
  }

  /** Returns the product of the prime factors that are at most the base. */
  private int smooth(int number) {
    int product = 1;
    for (int prime = 2; prime <= base; prime++) {
      while (number / product % prime == 0) {
        product *= prime;
      }
    }
    return product;
  }
}
