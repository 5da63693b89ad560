package io.vertigrad.federated;

import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Self-centred clipping for peers without a server (L. He, S. P. Karimireddy, M. Jaggi:
 * Byzantine-Robust Decentralized Learning via ClippedGossip, 2022): a peer takes its own vector as
 * the centre and moves towards its neighbours, but towards none by more than a radius: {@code x <-
 * x + sum_j w_j clip(x_j - x, radius)}, {@code clip(z, r) = z min(1, r / |z|)}.
 *
 * <p>So neighbours of the weight w move a peer by at most {@code w radius}, whatever they send. All
 * sums are in double.
 */
final class SelfCentredClipping {

  private SelfCentredClipping() {}

  /**
   * Moves a peer towards its neighbours.
   *
   * @param own the peer's vector
   * @param neighbours their vectors, of the same length; finite elements
   * @param weights of the neighbours, each at least 0, with a sum of at most 1; the rest of 1 is
   *     the peer's own weight
   * @param radius longest difference that counts in full, at least 0
   * @param result takes the new vector; may be {@code own}
   */
  static void mix(
      float[] own, float[][] neighbours, double[] weights, double radius, float[] result) {
    double[] factors = new double[neighbours.length];
    for (int j = 0; j < neighbours.length; j++) {
      double distance = distance(own, neighbours[j]);
      factors[j] = weights[j] * (distance <= radius ? 1 : radius / distance);
    }
    for (int k = 0; k < own.length; k++) {
      double moved = own[k];
      for (int j = 0; j < neighbours.length; j++) {
        moved += factors[j] * ((double) neighbours[j][k] - own[k]);
      }
      result[k] = (float) moved;
    }
  }

  /**
   * Returns the radius of the paper's rule, from the distances that a peer sees: {@code sqrt(1/d
   * sum_j w_j |x_j - x|^2)} over the nearest neighbours, without the farthest ones whose weight is
   * d.
   *
   * @param distances of the neighbours from the peer
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
      squares += left == 0 ? 0 : left * distances[j] * distances[j];
    }
    return Math.sqrt(squares / wrong);
  }

  private static double distance(float[] a, float[] b) {
    double squares = 0;
    for (int k = 0; k < a.length; k++) {
      double difference = (double) a[k] - b[k];
      squares += difference * difference;
    }
    return Math.sqrt(squares);
  }
}
