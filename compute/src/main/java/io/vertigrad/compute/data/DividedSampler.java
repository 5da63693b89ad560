package io.vertigrad.compute.data;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Divides the samples of each step among N workers in shares that may differ.
 *
 * <p>The epochs are those of {@link DistributedSampler}: one permutation per (seed, epoch), with
 * its first samples appended until the length is a multiple of N. Step k takes the next {@code sum
 * of shares} samples of it. They are dealt in turn to the workers whose share is not complete, so
 * equal shares give the samples of {@link DistributedSampler}. An epoch's last step may have fewer
 * samples; they are divided in proportion. So an epoch has the same number of steps, and each step
 * the same samples, whatever the shares are.
 *
 * @param samples size of the data set
 * @param rank rank of this worker, from 0
 * @param seed the same on every worker
 * @param shares samples of a step by rank, each at least 1; their sum is a multiple of N
 * @param dropLast whether an epoch's last step is left out when it has fewer samples
 */
public record DividedSampler(
    int samples, int rank, long seed, List<Integer> shares, boolean dropLast) implements Sampler {

  public DividedSampler {
    shares = List.copyOf(shares);
    boolean empty = shares.stream().anyMatch(share -> share < 1);
    if (samples < 1
        || rank < 0
        || rank >= shares.size()
        || empty
        || shares.stream().mapToLong(Integer::longValue).sum() % shares.size() != 0) {
      throw new IllegalArgumentException(
          "%s samples for rank %s, shares %s: expected at least 1 sample, a rank from 0 to %s, and shares of at least 1 whose sum is a multiple of their number"
              .formatted(samples, rank, shares, shares.size() - 1));
    }
  }

  /**
   * Divides a number of samples among workers in proportion to weights, by largest remainders. Each
   * gets at least 1. The same arguments give the same result everywhere.
   *
   * @param samples at least as many as there are weights
   * @param weights positive and finite, by rank
   * @return the shares by rank, whose sum is {@code samples}
   * @throws IllegalArgumentException when there are fewer samples than weights
   */
  public static List<Integer> divide(int samples, double... weights) {
    if (samples < weights.length) {
      throw new IllegalArgumentException(
          "%s samples for %s workers, expected at least one each"
              .formatted(samples, weights.length));
    }
    double sum = Arrays.stream(weights).sum();
    double[] exact = Arrays.stream(weights).map(weight -> samples * weight / sum).toArray();
    int[] shares = Arrays.stream(exact).mapToInt(share -> Math.max(1, (int) share)).toArray();
    int missing = samples - Arrays.stream(shares).sum();
    for (; missing > 0; missing--) {
      shares[furthest(exact, shares, 1)]++;
    }
    for (; missing < 0; missing++) {
      shares[furthest(exact, shares, -1)]--;
    }
    return Arrays.stream(shares).boxed().toList();
  }

  /** Returns the first rank whose share is furthest below its exact value, or above with -1. */
  private static int furthest(double[] exact, int[] shares, int sign) {
    return IntStream.range(0, shares.length)
        .filter(rank -> sign > 0 || shares[rank] > 1)
        .boxed()
        .max(
            Comparator.<Integer>comparingDouble(rank -> sign * (exact[rank] - shares[rank]))
                .thenComparing(Comparator.reverseOrder()))
        .orElseThrow();
  }

  @Override
  public int[] epoch(int epoch) {
    int[] permutation = new SplitMix64(seed, epoch).permutation(samples);
    int[] own = new int[length(epoch)];
    int[] whole = dealt(shares);
    int[] last = dealt(lastShares());
    long wholeSteps = wholeSteps();
    long total = total();
    for (int i = 0; i < own.length; i++) {
      int step = i / whole.length;
      int place = i % whole.length;
      int within = step < wholeSteps ? whole[place] : last[place];
      own[i] = permutation[(int) ((step * total + within) % samples)];
    }
    return own;
  }

  @Override
  public int length(int epoch) {
    List<Integer> last = lastShares();
    return Math.toIntExact(wholeSteps() * shares.get(rank)) + (last.isEmpty() ? 0 : last.get(rank));
  }

  /** Returns the places, within a step, of the samples that this rank is dealt. */
  private int[] dealt(List<Integer> all) {
    int[] places = new int[all.isEmpty() ? 0 : all.get(rank)];
    int place = 0;
    for (int turn = 0; turn < places.length; turn++) {
      for (int other = 0; other < all.size(); other++) {
        if (other == rank) {
          places[turn] = place;
        }
        place += all.get(other) > turn ? 1 : 0;
      }
    }
    return places;
  }

  /** Returns the shares of an epoch's last step; empty if it has all samples or is left out. */
  private List<Integer> lastShares() {
    int rest = (int) (padded() % total());
    return rest == 0 || dropLast
        ? List.of()
        : divide(rest, shares.stream().mapToDouble(Integer::doubleValue).toArray());
  }

  private long wholeSteps() {
    return padded() / total();
  }

  /** Returns the length of an epoch of all workers. */
  private long padded() {
    return DistributedSampler.share(samples, shares.size()) * shares.size();
  }

  private long total() {
    return shares.stream().mapToLong(Integer::longValue).sum();
  }
}
