package io.vertigrad.federated;

import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Self-centred clipping for peers without a server (L. He, S. P. Karimireddy, M. Jaggi:
 * Byzantine-Robust Decentralized Learning via ClippedGossip, 2022): a peer takes its own vector as
 * the centre and moves towards its neighbours, but towards none by more than a radius: {@code x <-
 * x + sum_j w_j clip(x_j - x, radius)}, {@code clip(z, r) = z min(1, r / |z|)}.
 *
 * <p>So neighbours of the weight w move a peer by at most {@code w radius}, whatever they send. A
 * vector with NaN or infinity counts as infinitely far, and moves nobody. All sums are in double.
 */
final class SelfCentredClipping {

  /** A weight that is smaller comes from rounding. */
  private static final double ROUNDING = 1e-12;

  private SelfCentredClipping() {}

  /**
   * Returns how far each neighbour is from a peer.
   *
   * @param own the peer's vector; elements beyond the neighbours' length do not count
   * @param neighbours their vectors, all of one length, not longer than {@code own}
   * @return Euclidean distances; infinite where an element is not finite
   */
  static double[] distances(float[] own, float[][] neighbours) {
    double[] distances = new double[neighbours.length];
    for (int j = 0; j < distances.length; j++) {
      double squares = 0;
      for (int k = 0; k < neighbours[j].length; k++) {
        double difference = (double) neighbours[j][k] - own[k];
        squares += difference * difference;
      }
      // Differences of finite floats cannot overflow a double, not even their squares.
      distances[j] = Double.isFinite(squares) ? Math.sqrt(squares) : Double.POSITIVE_INFINITY;
    }
    return distances;
  }

  /**
   * Moves a peer towards its neighbours, in their order.
   *
   * @param own the peer's vector, which is changed as far as the neighbours' vectors reach
   * @param neighbours their vectors, all of one length, not longer than {@code own}
   * @param distances of the neighbours from {@code own}
   * @param weights of the neighbours, each at least 0, with a sum of at most 1; the rest of 1 is
   *     the peer's own weight
   * @param radius longest difference that counts in full, at least 0
   */
  static void mix(
      float[] own, float[][] neighbours, double[] distances, double[] weights, double radius) {
    double[] factors = new double[neighbours.length];
    for (int j = 0; j < factors.length; j++) {
      boolean finite = distances[j] < Double.POSITIVE_INFINITY;
      factors[j] = finite ? weights[j] * (distances[j] <= radius ? 1 : radius / distances[j]) : 0;
    }
    int length = neighbours.length == 0 ? 0 : neighbours[0].length;
    for (int k = 0; k < length; k++) {
      double moved = own[k];
      for (int j = 0; j < factors.length; j++) {
        // Not a product with 0, which would be NaN for what is not finite.
        if (factors[j] > 0) {
          moved += factors[j] * ((double) neighbours[j][k] - own[k]);
        }
      }
      own[k] = (float) moved;
    }
  }

  /**
   * Returns the radius of the paper's rule, from the distances that a peer sees: {@code sqrt(1/d
   * sum_j w_j |x_j - x|^2)} over the nearest neighbours, without the farthest ones whose weight is
   * d.
   *
   * @param distances of the neighbours from the peer; infinite ones never count
   * @param weights of the neighbours
   * @param wrong weight of wrong neighbours to withstand: d; 0 for an unlimited radius
   */
  static double radius(double[] distances, double[] weights, double wrong) {
    if (wrong == 0) {
      return Double.POSITIVE_INFINITY;
    }
    int[] farthestFirst =
        IntStream.range(0, distances.length)
            .boxed()
            .sorted(Comparator.comparingDouble(j -> -distances[j]))
            .mapToInt(j -> j)
            .toArray();
    double dropped = 0;
    double squares = 0;
    for (int j : farthestFirst) {
      // The neighbour at the limit counts with the part of its weight that is not dropped.
      double left = Math.max(0, weights[j] - (wrong - dropped));
      dropped += weights[j] - left;
      if (left > ROUNDING && distances[j] < Double.POSITIVE_INFINITY) {
        squares += left * distances[j] * distances[j];
      }
    }
    return Math.sqrt(squares / wrong);
  }
}
