package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;

/**
 * Softmax and negative log-likelihood of a batch's logits, with their gradient. This is done in
 * Java, because a module ends with its logits.
 *
 * <p>The loss does not change when the same number is added to all logits of a sample, so
 * log-probabilities work as well as logits.
 */
final class CrossEntropy implements BatchLoss {

  private final float[] logits;
  private final int classes;
  private final int positions;
  private final Metric metric;
  private double lossSum;
  private int correct;
  private int correctTop;

  /**
   * Copies a module's output, with one class per sample.
   *
   * @param output {@code samples * classes} logits, sample after sample
   */
  CrossEntropy(FloatBuffer output, int classes) {
    this(output, classes, 1, Metric.ACCURACY);
  }

  /**
   * Copies a module's output.
   *
   * @param output {@code samples * positions * classes} logits, sample after sample
   * @param positions number of positions of a sample; a sample's loss is the mean over them
   * @param metric the figure that is reported besides the loss
   */
  CrossEntropy(FloatBuffer output, int classes, int positions, Metric metric) {
    this.logits = new float[output.remaining()];
    this.classes = classes;
    this.positions = positions;
    this.metric = metric;
    output.get(logits);
  }

  @Override
  public Score score(Batch batch, int topK) {
    compare(batch.labels(), topK);
    return new Score(batch.count(), lossSum(), correct, correctTop, batch.labels().length, metric);
  }

  /**
   * Compares the outputs with the labels. Of equally probable classes the first is the prediction.
   *
   * @param topK number of most probable classes that count as correct in the second count; 0 to
   *     count none
   */
  Score score(int[] labels, int topK) {
    compare(labels, topK);
    return new Score(labels.length, lossSum, correct, correctTop);
  }

  @Override
  public void gradient(Batch batch, FloatBuffer gradient, float scale) {
    gradient(batch.labels(), gradient, scale / positions);
  }

  /**
   * Compares the outputs with the labels and computes the gradient of the samples' loss.
   *
   * @param gradient receives {@code samples * classes} values
   * @param scale 1 for the gradient of the sum, {@code 1 / samples} for that of the mean
   */
  void gradient(int[] labels, FloatBuffer gradient, float scale) {
    lossSum = 0;
    correct = 0;
    float[] row = new float[classes];
    for (int i = 0; i < labels.length; i++) {
      int first = i * classes;
      int own = first + labels[i];
      float largest = largest(first);
      double sum = 0;
      for (int k = 0; k < classes; k++) {
        double e = Math.exp(logits[first + k] - largest);
        row[k] = (float) e;
        sum += e;
      }
      lossSum += Math.log(sum) + largest - logits[own];
      correct += isCorrect(own, before(first, own)) ? 1 : 0;
      float share = (float) (scale / sum);
      for (int k = 0; k < classes; k++) {
        row[k] *= share;
      }
      row[labels[i]] -= scale;
      gradient.put(row);
    }
  }

  @Override
  public float[] probabilities() {
    float[] found = new float[logits.length];
    for (int first = 0; first < logits.length; first += classes) {
      float largest = largest(first);
      double sum = 0;
      for (int at = first; at < first + classes; at++) {
        sum += Math.exp(logits[at] - largest);
      }
      for (int at = first; at < first + classes; at++) {
        found[at] = (float) (Math.exp(logits[at] - largest) / sum);
      }
    }
    return found;
  }

  @Override
  public double lossSum() {
    return lossSum / positions;
  }

  @Override
  public int correct() {
    return correct;
  }

  private void compare(int[] labels, int topK) {
    lossSum = 0;
    correct = 0;
    correctTop = 0;
    for (int i = 0; i < labels.length; i++) {
      int first = i * classes;
      int own = first + labels[i];
      float largest = largest(first);
      double sum = 0;
      for (int at = first; at < first + classes; at++) {
        sum += Math.exp(logits[at] - largest);
      }
      int before = before(first, own);
      lossSum += Math.log(sum) + largest - logits[own];
      correct += isCorrect(own, before) ? 1 : 0;
      correctTop += before < topK && logits[own] == logits[own] ? 1 : 0;
    }
  }

  /** Returns the number of classes of a row that precede this one in the order of probability. */
  private int before(int first, int own) {
    int before = 0;
    for (int at = first; at < first + classes; at++) {
      before += logits[at] > logits[own] || logits[at] == logits[own] && at < own ? 1 : 0;
    }
    return before;
  }

  /** Returns true when the class is the prediction. A logit that is NaN is never the prediction. */
  private boolean isCorrect(int own, int before) {
    return before == 0 && logits[own] == logits[own];
  }

  private float largest(int first) {
    float largest = logits[first];
    for (int at = first + 1; at < first + classes; at++) {
      largest = Math.max(largest, logits[at]);
    }
    return largest;
  }
}
