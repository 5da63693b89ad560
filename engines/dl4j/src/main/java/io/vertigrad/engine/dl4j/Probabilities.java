package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Score;

/** What a network answered, sample after sample one probability per class. */
final class Probabilities {

  private static final double SMALLEST = 1e-10;

  private Probabilities() {}

  /**
   * Compares answers with the truth; of equally probable classes the first is the answer.
   *
   * @param values as many per sample as there are classes
   * @param topK how many of the most probable classes count as the right answer beside the first; 0
   *     to count none
   */
  static Score score(float[] values, int[] labels, int topK) {
    int classes = values.length / labels.length;
    double loss = 0;
    int correct = 0;
    int correctTop = 0;
    for (int i = 0; i < labels.length; i++) {
      int first = i * classes;
      int best = first;
      for (int k = first + 1; k < first + classes; k++) {
        best = values[k] > values[best] ? k : best;
      }
      correct += best == first + labels[i] ? 1 : 0;
      correctTop += topK > 0 && before(values, first, classes, labels[i]) < topK ? 1 : 0;
      loss -= Math.log(Math.max(values[first + labels[i]], SMALLEST));
    }
    return new Score(labels.length, loss, correct, correctTop);
  }

  /** How many classes of a sample come before this one. */
  private static int before(float[] values, int first, int classes, int label) {
    float own = values[first + label];
    int before = 0;
    for (int k = 0; k < classes; k++) {
      float other = values[first + k];
      before += other > own || other == own && k < label ? 1 : 0;
    }
    return before;
  }
}
