package io.vertigrad.compute.data;

/** A very weak classifier: it predicts the class whose mean sample is nearest. */
public final class NearestMean {

  private final double[][] means;

  public NearestMean(Dataset train) {
    int length = train.shape().stream().reduce(1, Math::multiplyExact);
    means = new double[train.classes()][length];
    int[] counts = new int[train.classes()];
    for (int i = 0; i < train.size(); i++) {
      float[] values = Fingerprint.sample(train, i);
      counts[train.label(i)]++;
      for (int p = 0; p < length; p++) {
        means[train.label(i)][p] += values[p];
      }
    }
    for (int label = 0; label < means.length; label++) {
      for (int p = 0; p < length; p++) {
        means[label][p] /= counts[label];
      }
    }
  }

  /** Returns the percentage of these samples that it classifies correctly. */
  public double percentRight(Dataset test) {
    int right = 0;
    for (int i = 0; i < test.size(); i++) {
      right += nearest(Fingerprint.sample(test, i)) == test.label(i) ? 1 : 0;
    }
    return 100.0 * right / test.size();
  }

  private int nearest(float[] values) {
    int best = 0;
    double least = Double.MAX_VALUE;
    for (int label = 0; label < means.length; label++) {
      double distance = 0;
      for (int p = 0; p < values.length; p++) {
        double difference = means[label][p] - values[p];
        distance += difference * difference;
      }
      if (distance < least) {
        least = distance;
        best = label;
      }
    }
    return best;
  }
}
