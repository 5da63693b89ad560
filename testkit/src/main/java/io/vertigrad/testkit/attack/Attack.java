package io.vertigrad.testkit.attack;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Random;

/**
 * What a wrong worker sends instead of its update.
 *
 * <p>An attacker that knows the updates of the honest workers is stronger than a real one usually
 * is; rules are judged by what they withstand. An update may be a gradient or the difference that a
 * worker moved. Attacks of equal arguments send equal updates. {@link StaleReplay} and {@link
 * Mimic} remember earlier rounds: one object for each run, for one thread.
 */
public sealed interface Attack {

  /**
   * Returns the update that the worker sends.
   *
   * @param own the update that the worker would have sent; unchanged
   * @param honest updates of the honest workers in this round, in rank order, possibly not used;
   *     unchanged
   * @param round number of the round, from 0
   * @return a new array of the same length
   */
  float[] update(float[] own, List<float[]> honest, long round);

  /**
   * Sends {@code -scale own}: with the scale 1 the sign flip of L. Li, W. Xu, T. Chen, G.
   * Giannakis, Q. Ling, RSA: Byzantine-Robust Stochastic Aggregation Methods, AAAI 2019. The papers
   * on bucketing call it bit flipping, because it flips the sign bit of every element.
   *
   * @param scale factor of the update's length, above 0
   */
  record SignFlip(float scale) implements Attack {

    /** Checks the scale. */
    public SignFlip {
      requirePositive("scale", scale);
    }

    @Override
    public float[] update(float[] own, List<float[]> honest, long round) {
      float[] sent = new float[own.length];
      for (int i = 0; i < sent.length; i++) {
        sent[i] = -scale * own[i];
      }
      return sent;
    }
  }

  /**
   * Flips one bit in some elements, as broken memory does. A flipped bit of the exponent gives
   * numbers up to 1e38, infinity or NaN.
   *
   * @param bit from 0, the lowest of the fraction, to 30, the highest of the exponent, and 31, the
   *     sign
   * @param every distance between two elements with a flipped bit, at least 1
   */
  record BitFlip(int bit, int every) implements Attack {

    /** Checks the bit and the distance. */
    public BitFlip {
      if (bit < 0 || bit >= Float.SIZE || every < 1) {
        throw new IllegalArgumentException(
            "bit %s of every %s elements: expected 0 to 31, and at least 1".formatted(bit, every));
      }
    }

    @Override
    public float[] update(float[] own, List<float[]> honest, long round) {
      float[] sent = own.clone();
      for (int i = 0; i < sent.length; i += every) {
        sent[i] = Float.intBitsToFloat(Float.floatToRawIntBits(sent[i]) ^ 1 << bit);
      }
      return sent;
    }
  }

  /**
   * Sends noise with the mean 0 (P. Blanchard, E. El Mhamdi, R. Guerraoui, J. Stainer, Machine
   * Learning with Adversaries, NeurIPS 2017, with the deviation 200).
   *
   * @param deviation standard deviation of every element, above 0
   * @param seed decides the noise together with the round
   */
  record GaussianNoise(double deviation, long seed) implements Attack {

    /** Checks the deviation. */
    public GaussianNoise {
      requirePositive("deviation", deviation);
    }

    @Override
    public float[] update(float[] own, List<float[]> honest, long round) {
      Random random = new Random(seed * 31 + round);
      float[] sent = new float[own.length];
      for (int i = 0; i < sent.length; i++) {
        sent[i] = (float) (deviation * random.nextGaussian());
      }
      return sent;
    }
  }

  /**
   * Sends {@code -epsilon} times the mean of the honest updates: inner-product manipulation (C.
   * Xie, O. Koyejo, I. Gupta, Fall of Empires: Breaking Byzantine-Tolerant SGD by Inner Product
   * Manipulation, UAI 2020). A small epsilon stays near the honest updates, and a large one turns
   * the mean round.
   *
   * @param epsilon above 0; the paper has 0.1 to 100
   */
  record InnerProduct(double epsilon) implements Attack {

    /** Checks epsilon. */
    public InnerProduct {
      requirePositive("epsilon", epsilon);
    }

    @Override
    public float[] update(float[] own, List<float[]> honest, long round) {
      return atDeviation(own, honest, -epsilon, 0);
    }
  }

  /**
   * Sends {@code mean - z deviation} of the honest updates, in every coordinate: a little is enough
   * (G. Baruch, M. Baruch, Y. Goldberg, A Little Is Enough: Circumventing Defenses For Distributed
   * Learning, NeurIPS 2019). The deviation is that of the honest updates around their mean, divided
   * by their number.
   *
   * @param z number of deviations; 0 sends the mean
   */
  record LittleIsEnough(double z) implements Attack {

    /** Checks z. */
    public LittleIsEnough {
      if (!(z >= 0) || !Double.isFinite(z)) {
        throw new IllegalArgumentException("z %s: expected at least 0".formatted(z));
      }
    }

    /**
     * Creates the attack with the largest z that the paper's rule allows. With {@code s = n / 2 + 1
     * - f} honest workers on their side the attackers are a majority. So z is where the standard
     * normal distribution reaches {@code (n - f - s) / (n - f)}.
     *
     * @param workers number of all workers: n
     * @param liars number of attackers: f, from 1 to less than n / 2
     * @return the attack; with z = 0 where the rule gives less
     */
    public static LittleIsEnough of(int workers, int liars) {
      if (liars < 1 || 2 * liars >= workers) {
        throw new IllegalArgumentException(
            "%s liars of %s workers: expected at least 1 and less than half"
                .formatted(liars, workers));
      }
      int supporters = workers / 2 + 1 - liars;
      int honest = workers - liars;
      return new LittleIsEnough(
          Math.max(0, normalQuantile((double) (honest - supporters) / honest)));
    }

    @Override
    public float[] update(float[] own, List<float[]> honest, long round) {
      return atDeviation(own, honest, 1, -z);
    }
  }

  /** Sends NaN in every element. */
  record NotANumber() implements Attack {

    @Override
    public float[] update(float[] own, List<float[]> honest, long round) {
      float[] sent = new float[own.length];
      Arrays.fill(sent, Float.NaN);
      return sent;
    }
  }

  /** Sends the worker's own update of some rounds earlier again; at first zeros. */
  final class StaleReplay implements Attack {

    private final int rounds;
    private final Deque<float[]> earlier = new ArrayDeque<>();

    /**
     * Creates an attack that has seen no round.
     *
     * @param rounds age of the update that is sent, at least 1
     */
    public StaleReplay(int rounds) {
      requirePositive("rounds", rounds);
      this.rounds = rounds;
    }

    @Override
    public float[] update(float[] own, List<float[]> honest, long round) {
      earlier.add(own.clone());
      return earlier.size() > rounds ? earlier.remove() : new float[own.length];
    }
  }

  /**
   * Sends the update of one honest worker, always the same one, so that this worker counts too much
   * (S. P. Karimireddy, L. He, M. Jaggi, Byzantine-Robust Learning on Heterogeneous Datasets via
   * Bucketing, ICLR 2022).
   *
   * <p>During the first rounds the attackers send the update of the first honest worker, and learn
   * the direction in which the honest updates differ most, by Oja's rule. Then they choose the
   * honest worker whose updates went farthest in that direction. All attackers of a run use equal
   * objects, so they choose the same worker.
   */
  final class Mimic implements Attack {

    private final int learningRounds;
    private float[] direction;
    private double[] along;
    private int chosen;

    /**
     * Creates an attack that has seen no round.
     *
     * @param learningRounds number of rounds before the choice; 0 to mimic the first honest worker
     */
    public Mimic(int learningRounds) {
      if (learningRounds < 0) {
        throw new IllegalArgumentException(
            "%s learning rounds: expected at least 0".formatted(learningRounds));
      }
      this.learningRounds = learningRounds;
    }

    @Override
    public float[] update(float[] own, List<float[]> honest, long round) {
      requireHonest(honest);
      if (round < learningRounds) {
        learn(honest, round);
      }
      return honest.get(Math.min(chosen, honest.size() - 1)).clone();
    }

    private void learn(List<float[]> honest, long round) {
      float[] mean = atDeviation(honest.get(0), honest, 1, 0);
      int length = mean.length;
      if (direction == null) {
        Random random = new Random(length);
        direction = new float[length];
        for (int i = 0; i < length; i++) {
          direction[i] = (float) random.nextGaussian();
        }
        along = new double[honest.size()];
      }
      double[] moved = new double[length];
      for (float[] update : honest) {
        double product = 0;
        for (int i = 0; i < length; i++) {
          product += ((double) update[i] - mean[i]) * direction[i];
        }
        for (int i = 0; i < length; i++) {
          moved[i] += product * ((double) update[i] - mean[i]);
        }
      }
      double seen = round / (1.0 + round);
      double directionNorm = norm(direction);
      double movedNorm = norm(moved);
      for (int i = 0; i < length; i++) {
        double old = directionNorm == 0 ? 0 : direction[i] / directionNorm;
        double added = movedNorm == 0 ? 0 : moved[i] / movedNorm;
        direction[i] = (float) (seen * old + (1 - seen) * added);
      }
      choose(honest);
    }

    private void choose(List<float[]> honest) {
      for (int j = 0; j < Math.min(along.length, honest.size()); j++) {
        float[] update = honest.get(j);
        for (int i = 0; i < update.length; i++) {
          along[j] += (double) update[i] * direction[i];
        }
        if (Math.abs(along[j]) > Math.abs(along[chosen])) {
          chosen = j;
        }
      }
    }
  }

  /** Returns {@code meanFactor mean + deviationFactor deviation} of the honest updates. */
  private static float[] atDeviation(
      float[] own, List<float[]> honest, double meanFactor, double deviationFactor) {
    requireHonest(honest);
    float[] sent = new float[own.length];
    for (int i = 0; i < sent.length; i++) {
      double mean = 0;
      for (float[] update : honest) {
        mean += update[i];
      }
      mean /= honest.size();
      double squares = 0;
      for (float[] update : honest) {
        squares += (update[i] - mean) * (update[i] - mean);
      }
      double deviation = Math.sqrt(squares / honest.size());
      sent[i] = (float) (meanFactor * mean + deviationFactor * deviation);
    }
    return sent;
  }

  private static double norm(double[] vector) {
    double squares = 0;
    for (double element : vector) {
      squares += element * element;
    }
    return Math.sqrt(squares);
  }

  private static double norm(float[] vector) {
    double squares = 0;
    for (float element : vector) {
      squares += (double) element * element;
    }
    return Math.sqrt(squares);
  }

  private static void requireHonest(List<float[]> honest) {
    if (honest.isEmpty()) {
      throw new IllegalArgumentException("no honest update: expected at least 1");
    }
  }

  private static void requirePositive(String name, double value) {
    if (!(value > 0) || !Double.isFinite(value)) {
      throw new IllegalArgumentException("%s %s: expected more than 0".formatted(name, value));
    }
  }

  /** Returns where the standard normal distribution reaches a probability above 0 and below 1. */
  private static double normalQuantile(double probability) {
    double low = -8;
    double high = 8;
    while (high - low > 1e-13) {
      double middle = (low + high) / 2;
      if (normalDistribution(middle) < probability) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return (low + high) / 2;
  }

  private static double normalDistribution(double x) {
    double term = x;
    double sum = x;
    for (int k = 1; Math.abs(term) > Math.abs(sum) * 1e-17; k++) {
      term *= x * x / (2 * k + 1);
      sum += term;
    }
    return 0.5 + sum * Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
  }
}
