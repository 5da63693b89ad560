package io.vertigrad.compute.data;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.settings.Settings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Divides a data set among workers so that each has samples of its own, alike or unlike. For
 * experiments: the partitions are those of Li, Diao, Chen, He: "Federated learning on non-IID data
 * silos" (arXiv 2102.02079). No sample has two owners. The same arguments give the same division in
 * every process and on every Java release.
 *
 * @param kind how samples are divided
 * @param labels classes of each worker, with {@link Kind#BY_LABEL}
 * @param alpha concentration of the Dirichlet distribution, above 0, with {@link Kind#DIRICHLET}
 *     and {@link Kind#QUANTITY}: the smaller, the more unlike the workers
 */
public record DataPartition(Kind kind, int labels, double alpha) {

  /** Fewest samples of a worker where proportions are drawn: they are drawn again below it. */
  public static final int FEWEST_SAMPLES = 10;

  /** Separates the numbers drawn here from those of samplers with the same seed. */
  private static final long STREAM = 0x6461746150617274L;

  private static final int MOST_LABELS = 1 << 20;
  private static final double LEAST_ALPHA = 1e-4;
  private static final double MOST_ALPHA = 1e6;
  private static final int MOST_VARIATES = 4_000_000;

  /** Names of the kinds in job files. */
  public enum Kind {
    /** By chance; sizes differ by at most 1. */
    IID("iid"),
    /**
     * Each worker has samples of some classes only. Those of a class are shared evenly by the
     * workers that have it; a class that no worker has is not used.
     */
    BY_LABEL("byLabel"),
    /**
     * The samples of each class are divided by proportions of a Dirichlet distribution. A worker
     * that has its even share of all samples gets none of the next class.
     */
    DIRICHLET("dirichlet"),
    /** By chance; the sizes are proportions of a Dirichlet distribution. */
    QUANTITY("quantity");

    private final String key;

    Kind(String key) {
      this.key = key;
    }

    /**
     * Returns the name in job files.
     *
     * @return such as {@code byLabel}
     */
    public String key() {
      return key;
    }

    /**
     * Returns the names of all kinds.
     *
     * @return the keys in the order of the constants
     */
    public static String[] keys() {
      return Stream.of(values()).map(Kind::key).toArray(String[]::new);
    }

    /**
     * Returns the kind of a name.
     *
     * @param key one of {@link #keys}
     * @return the kind
     * @throws java.util.NoSuchElementException when there is none
     */
    public static Kind of(String key) {
      return Stream.of(values()).filter(kind -> kind.key.equals(key)).findFirst().orElseThrow();
    }

    /**
     * Returns whether samples are divided by their class.
     *
     * @return false if any data set can be divided
     */
    public boolean needsClasses() {
      return this == BY_LABEL || this == DIRICHLET;
    }
  }

  /**
   * Reads a partition: {@code kind}, and the keys of that kind.
   *
   * @param section such as {@code workers.partition} of a job file
   * @return the partition
   * @throws io.vertigrad.compute.settings.SettingsException with a key that is missing, unknown or
   *     out of range
   */
  public static DataPartition read(Settings section) {
    Kind kind = Kind.of(section.choice("kind", null, Kind.keys()));
    boolean drawn = kind == Kind.DIRICHLET || kind == Kind.QUANTITY;
    refuseOfOtherKinds(section, kind, "labels", kind == Kind.BY_LABEL, Kind.BY_LABEL.key);
    String ofDrawn = "%s\" or \"%s".formatted(Kind.DIRICHLET.key, Kind.QUANTITY.key);
    refuseOfOtherKinds(section, kind, "alpha", drawn, ofDrawn);
    DataPartition partition =
        new DataPartition(
            kind,
            kind == Kind.BY_LABEL ? section.integer("labels", 2, 1, MOST_LABELS) : 1,
            drawn ? section.number("alpha", 0.5, LEAST_ALPHA, MOST_ALPHA) : 1);
    section.refuseUnknown();
    return partition;
  }

  private static void refuseOfOtherKinds(
      Settings section, Kind kind, String key, boolean belongs, String kinds) {
    if (!belongs && section.has(key)) {
      throw section.refuse(
          key,
          "is given with kind \"%s\", expected it with \"%s\" only; leave it out, or change the kind"
              .formatted(kind.key, kinds));
    }
  }

  /** Checks the numbers. */
  public DataPartition {
    if (labels < 1 || !(alpha > 0) || alpha == Double.POSITIVE_INFINITY) {
      throw new IllegalArgumentException(
          "labels %s, alpha %s: expected at least 1, and a finite number above 0"
              .formatted(labels, alpha));
    }
  }

  /**
   * Returns the number of samples of each class.
   *
   * @param data the samples
   * @return one number for each class; empty if a sample has no single class, or is of tokens
   */
  public static Optional<int[]> countsOfClasses(Dataset data) {
    Targets targets = data.targets();
    if (targets.kind() != Targets.Kind.CLASS || targets.positions() > 1 || data.tokens() > 0) {
      return Optional.empty();
    }
    int[] counts = new int[targets.outputs()];
    for (int i = 0; i < data.size(); i++) {
      counts[data.label(i)]++;
    }
    return Optional.of(counts);
  }

  /**
   * Divides the samples. Reads all labels if the kind needs classes.
   *
   * @param data the samples
   * @param workers number of workers
   * @param seed the same in every process
   * @return for each worker the indices of its samples, in ascending order, at least 1
   * @throws DataException when the data have no classes, fewer than {@code labels}, or not enough
   *     samples for so many workers
   */
  public List<int[]> divide(Dataset data, int workers, long seed) {
    if (data.size() < workers) {
      throw tooFew(data.size(), workers, 1);
    }
    List<int[]> parts =
        switch (kind) {
          case IID -> cut(shuffled(data.size(), seed), even(data.size(), workers));
          case QUANTITY -> quantities(data.size(), workers, seed);
          case BY_LABEL -> byLabel(samplesOfClasses(data, seed), workers, seed);
          case DIRICHLET -> dirichlet(samplesOfClasses(data, seed), data.size(), workers, seed);
        };
    parts.forEach(Arrays::sort);
    return parts;
  }

  private List<int[]> byLabel(List<int[]> samples, int workers, long seed) {
    int classes = samples.size();
    if (labels > classes) {
      throw new DataException(
          "workers.partition.labels is %s, but the data have %s classes: expected at most so many"
              .formatted(labels, classes));
    }
    SplitMix64 random = new SplitMix64(seed, STREAM, 0);
    List<List<Integer>> owners = new ArrayList<>();
    samples.forEach(any -> owners.add(new ArrayList<>()));
    for (int worker = 0; worker < workers; worker++) {
      // With at least as many workers as classes, every class has an owner.
      int first = worker % classes;
      owners.get(first).add(worker);
      int owner = worker;
      IntStream.of(random.permutation(classes))
          .filter(label -> label != first)
          .limit(labels - 1L)
          .forEach(label -> owners.get(label).add(owner));
    }
    int[][] counts = new int[classes][workers];
    for (int label = 0; label < classes; label++) {
      List<Integer> sharing = owners.get(label);
      int[] sizes = even(samples.get(label).length, sharing.size());
      for (int i = 0; i < sizes.length; i++) {
        counts[label][sharing.get(i)] = sizes[i];
      }
    }
    return dealt(samples, counts, workers, 1);
  }

  private List<int[]> dirichlet(List<int[]> samples, int size, int workers, long seed) {
    DirichletSampler proportions = new DirichletSampler(alpha);
    long draws = attempts(size, workers, samples.size());
    for (long attempt = 0; attempt < draws; attempt++) {
      SplitMix64 random = new SplitMix64(seed, STREAM, attempt);
      int[] sizes = new int[workers];
      int[][] counts = new int[samples.size()][workers];
      for (int label = 0; label < counts.length; label++) {
        int count = samples.get(label).length;
        if (count > 0) {
          double[] shares =
              proportions.draw(random, workers, w -> (long) sizes[w] * workers < size);
          counts[label] = rounded(shares, count);
          for (int worker = 0; worker < workers; worker++) {
            sizes[worker] += counts[label][worker];
          }
        }
      }
      if (IntStream.of(sizes).min().orElseThrow() >= FEWEST_SAMPLES) {
        return dealt(samples, counts, workers, FEWEST_SAMPLES);
      }
    }
    throw tooUnlike(size, workers, draws);
  }

  private List<int[]> quantities(int size, int workers, long seed) {
    DirichletSampler proportions = new DirichletSampler(alpha);
    long draws = attempts(size, workers, 1);
    for (long attempt = 0; attempt < draws; attempt++) {
      SplitMix64 random = new SplitMix64(seed, STREAM, attempt);
      int[] sizes = rounded(proportions.draw(random, workers, worker -> true), size);
      if (IntStream.of(sizes).min().orElseThrow() >= FEWEST_SAMPLES) {
        return cut(shuffled(size, seed), sizes);
      }
    }
    throw tooUnlike(size, workers, draws);
  }

  /** Returns the samples of each class in random order. */
  private List<int[]> samplesOfClasses(Dataset data, long seed) {
    int[] counts =
        countsOfClasses(data)
            .orElseThrow(
                () ->
                    new DataException(
                        "workers.partition.kind is %s, but the data have %s: expected %s or %s, or data whose samples have one class each"
                            .formatted(
                                kind.key,
                                data.tokens() > 0 ? "tokens" : data.targets().kind().text(),
                                Kind.IID.key,
                                Kind.QUANTITY.key)));
    List<int[]> samples = new ArrayList<>();
    for (int count : counts) {
      samples.add(new int[count]);
    }
    int[] found = new int[counts.length];
    for (int index : shuffled(data.size(), seed)) {
      int label = data.label(index);
      samples.get(label)[found[label]++] = index;
    }
    return samples;
  }

  private static int[] shuffled(int size, long seed) {
    return new SplitMix64(seed, STREAM).permutation(size);
  }

  private static int[] even(int size, int parts) {
    int[] sizes = new int[parts];
    Arrays.setAll(sizes, part -> size / parts + (part < size % parts ? 1 : 0));
    return sizes;
  }

  /** Returns whole numbers in these proportions: differences of their sums, rounded down. */
  private static int[] rounded(double[] shares, int count) {
    int[] sizes = new int[shares.length];
    double sum = 0;
    int before = 0;
    for (int i = 0; i < sizes.length; i++) {
      sum += shares[i];
      int end = i == sizes.length - 1 ? count : Math.min(count, (int) (sum * count));
      sizes[i] = end - before;
      before = end;
    }
    return sizes;
  }

  private static List<int[]> cut(int[] samples, int[] sizes) {
    List<int[]> parts = new ArrayList<>();
    int from = 0;
    for (int size : sizes) {
      parts.add(Arrays.copyOfRange(samples, from, from + size));
      from += size;
    }
    return parts;
  }

  /** Returns the samples of each worker, by the counts of each class. */
  private static List<int[]> dealt(List<int[]> samples, int[][] counts, int workers, int fewest) {
    List<int[]> all = new ArrayList<>();
    int[] from = new int[counts.length];
    for (int worker = 0; worker < workers; worker++) {
      int owner = worker;
      int[] part = new int[Stream.of(counts).mapToInt(of -> of[owner]).sum()];
      int length = 0;
      for (int label = 0; label < counts.length; label++) {
        int count = counts[label][worker];
        System.arraycopy(samples.get(label), from[label], part, length, count);
        from[label] += count;
        length += count;
      }
      all.add(part);
    }
    if (all.stream().anyMatch(part -> part.length < fewest)) {
      throw tooFew(samples.stream().mapToInt(each -> each.length).sum(), workers, fewest);
    }
    return all;
  }

  private static long attempts(int size, int workers, int classes) {
    if (size < (long) FEWEST_SAMPLES * workers) {
      throw tooFew(size, workers, FEWEST_SAMPLES);
    }
    return Math.max(10, MOST_VARIATES / ((long) workers * classes));
  }

  private DataException tooUnlike(int size, int workers, long draws) {
    return new DataException(
        "workers.partition.alpha is %s: in %s draws, one of %s workers always had fewer than %s of the %s samples; expected a larger alpha, fewer workers or more samples"
            .formatted(alpha, draws, workers, FEWEST_SAMPLES, size));
  }

  private static DataException tooFew(int size, int workers, int fewest) {
    return new DataException(
        "workers.partition: %s samples for %s workers, expected at least %s for each; use fewer workers"
            .formatted(size, workers, fewest));
  }
}
