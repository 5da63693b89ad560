package io.vertigrad.compute.dl4j;

import io.vertigrad.compute.Score;

/** What a network answered, sample after sample one probability per class. */
final class Probabilities {

  private static final double SMALLEST = 1e-10;

  private Probabilities() {}

  /**
   * Compares answers with the truth; of equally probable classes the first is the answer.
   *
   * @param values as many per sample as there are classes
   */
  static Score score(float[] values, int[] labels) {
    int classes = values.length / labels.length;
    double loss = 0;
    int correct = 0;
    for (int i = 0; i < labels.length; i++) {
      int first = i * classes;
      int best = first;
      for (int k = first + 1; k < first + classes; k++) {
        best = values[k] > values[best] ? k : best;
      }
      correct += best == first + labels[i] ? 1 : 0;
      loss -= Math.log(Math.max(values[first + labels[i]], SMALLEST));
    }
    return new Score(labels.length, loss, correct);
  }
}
