package io.vertigrad.compute.data;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Continues a text token by token: keeps the window that a model sees, and draws each token from
 * what the model puts out for it. Not thread-safe.
 *
 * <p>A model with an output at each position may begin with fewer tokens than its window has: the
 * positions behind them are filled up, and such a model does not look at what comes later.
 */
public final class TokenSampler {

  private final Sampling sampling;
  private final SplittableRandom random;
  private final float[] window;
  private final int positions;

  /** Tokens in the window that are not filling. */
  private int count;

  /**
   * How tokens are drawn.
   *
   * @param temperature below 1 draws probable tokens more often; 0 always takes the most probable
   *     one
   * @param topK draws among this many of the most probable tokens; {@link Integer#MAX_VALUE} for
   *     all
   * @param seed another seed, another text
   */
  public record Sampling(double temperature, int topK, long seed) {

    /** Refuses values that are out of range. */
    public Sampling {
      if (!(temperature >= 0) || temperature == Double.POSITIVE_INFINITY || topK < 1) {
        throw new IllegalArgumentException(
            "temperature %s, topK %s: expected a finite number of at least 0, and at least 1"
                .formatted(temperature, topK));
      }
    }
  }

  /**
   * Begins behind a text.
   *
   * @param prompt its tokens, of which the last ones that fit into the window count
   * @param length tokens of the model's window
   * @param positions positions for which the model puts out probabilities: 1, or the length
   * @param sampling how tokens are drawn
   * @throws DataException when there are too few tokens
   */
  public TokenSampler(int[] prompt, int length, int positions, Sampling sampling) {
    int least = positions == length ? 1 : length;
    if (prompt.length < least) {
      throw new DataException(
          "has %s tokens, expected at least %s"
              .formatted(
                  prompt.length,
                  least == 1
                      ? "1"
                      : "the %s that the model takes (data.length, with data.predict next)"
                          .formatted(length)));
    }
    this.sampling = sampling;
    this.random = new SplittableRandom(sampling.seed());
    this.positions = positions;
    this.window = new float[length];
    this.count = Math.min(length, prompt.length);
    for (int i = 0; i < count; i++) {
      window[i] = prompt[prompt.length - count + i];
    }
  }

  /**
   * Returns the model's input for the next token.
   *
   * @return a new array with a token at each position
   */
  public float[] window() {
    return window.clone();
  }

  /**
   * Draws the next token and appends it to the window.
   *
   * @param outputs what the model puts out for the {@link #window}: finite probabilities of all
   *     tokens, at each position
   * @return id of the token
   */
  public int next(float[] outputs) {
    int tokens = outputs.length / positions;
    int last = positions == 1 ? 0 : count - 1;
    int token = draw(Arrays.copyOfRange(outputs, last * tokens, (last + 1) * tokens));
    if (count == window.length) {
      System.arraycopy(window, 1, window, 0, count - 1);
      count--;
    }
    window[count++] = token;
    return token;
  }

  private int draw(float[] probabilities) {
    double number = random.nextDouble();
    int best = 0;
    for (int k = 1; k < probabilities.length; k++) {
      best = probabilities[k] > probabilities[best] ? k : best;
    }
    if (sampling.temperature() == 0 || sampling.topK() == 1) {
      return best;
    }
    // Relative to the most probable token, so that no temperature makes every weight 0.
    double[] weights = new double[probabilities.length];
    double sum = 0;
    for (int k = 0; k < weights.length; k++) {
      weights[k] = Math.pow(probabilities[k] / probabilities[best], 1 / sampling.temperature());
    }
    clearBeyondTop(weights, probabilities);
    for (double weight : weights) {
      sum += weight;
    }
    double left = number * sum;
    for (int k = 0; k < weights.length; k++) {
      left -= weights[k];
      if (left < 0) {
        return k;
      }
    }
    return best;
  }

  /** Gives weight 0 to all but the most probable tokens; of equal ones the lower ids stay. */
  private void clearBeyondTop(double[] weights, float[] probabilities) {
    if (sampling.topK() >= weights.length) {
      return;
    }
    float[] sorted = probabilities.clone();
    Arrays.sort(sorted);
    float least = sorted[sorted.length - sampling.topK()];
    int above = 0;
    for (float probability : probabilities) {
      above += probability > least ? 1 : 0;
    }
    int equal = sampling.topK() - above;
    for (int k = 0; k < weights.length; k++) {
      if (probabilities[k] < least || probabilities[k] == least && equal-- <= 0) {
        weights[k] = 0;
      }
    }
  }
}
