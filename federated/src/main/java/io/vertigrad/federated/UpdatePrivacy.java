package io.vertigrad.federated;

import java.security.SecureRandom;
import java.util.SplittableRandom;

/**
 * Clips a worker's update to a norm and adds Gaussian noise, before it leaves the worker: {@code u
 * <- u min(1, C / |u|) + sigma C N(0, 1)}. {@link PrivacyAccountant} says what that is worth.
 *
 * <p>The noise comes from a fast generator of numbers, which is not a cryptographic one, and it is
 * rounded to float32 (I. Mironov, On Significance of the Least Significant Bits for Differential
 * Privacy, CCS 2012). Someone who knows the seed can take the noise off again. So give a seed only
 * to repeat an experiment.
 *
 * <p>Every update takes new numbers from the generator, also one that is computed again after a
 * restore: two updates with the same noise would show their difference. For one thread.
 */
final class UpdatePrivacy {

  private final double norm;
  private final double noiseMultiplier;
  private final SplittableRandom random;

  /**
   * Creates a source of repeatable noise, for experiments.
   *
   * @param norm longest norm of an update: C, above 0
   * @param noiseMultiplier standard deviation of the noise divided by the norm: sigma, at least 0
   * @param seed of the generator; different at each worker
   */
  UpdatePrivacy(double norm, double noiseMultiplier, long seed) {
    if (!(norm > 0) || !Double.isFinite(norm) || !(noiseMultiplier >= 0)) {
      throw new IllegalArgumentException(
          "norm %s, noise multiplier %s: expected more than 0, and at least 0"
              .formatted(norm, noiseMultiplier));
    }
    this.norm = norm;
    this.noiseMultiplier = noiseMultiplier;
    random = new SplittableRandom(seed);
  }

  /**
   * Creates a source of noise with a seed from {@link SecureRandom}.
   *
   * @param norm longest norm of an update: C, above 0
   * @param noiseMultiplier standard deviation of the noise divided by the norm: sigma, at least 0
   */
  UpdatePrivacy(double norm, double noiseMultiplier) {
    this(norm, noiseMultiplier, new SecureRandom().nextLong());
  }

  /**
   * Clips one update in place and adds the noise.
   *
   * @param parts all parts of the update, which have one norm together; finite elements
   * @return the norm before the update was clipped
   */
  double apply(float[]... parts) {
    double squares = 0;
    for (float[] part : parts) {
      for (float element : part) {
        squares += (double) element * element;
      }
    }
    double found = Math.sqrt(squares);
    double scale = found > norm ? norm / found : 1;
    double deviation = noiseMultiplier * norm;
    for (float[] part : parts) {
      for (int i = 0; i < part.length; i++) {
        double noise = deviation == 0 ? 0 : deviation * random.nextGaussian();
        part[i] = (float) (part[i] * scale + noise);
      }
    }
    return found;
  }
}
