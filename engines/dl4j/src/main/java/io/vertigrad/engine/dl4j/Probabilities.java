package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Score;

/**
 * Scores a network's outputs: for each sample one probability per class or label, or the values.
 */
final class Probabilities {

  private static final double SMALLEST = 1e-10;

  private Probabilities() {}

  /**
   * Compares outputs with the labels. Of equally probable classes the first is the prediction.
   *
   * @param values as many per sample as there are classes
   * @param topK number of most probable classes that count as correct in the second count; 0 to
   *     count none
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
      // No value compares as larger than NaN, so a label with NaN must not count as the best.
      boolean known = !Float.isNaN(values[first + labels[i]]);
      correct += known && best == first + labels[i] ? 1 : 0;
      correctTop += known && before(values, first, classes, labels[i]) < topK ? 1 : 0;
      loss -= Math.log(Math.max(values[first + labels[i]], SMALLEST));
    }
    return new Score(labels.length, loss, correct, correctTop);
  }

  /**
   * Compares a network's outputs with the targets.
   *
   * @param values for each sample as many as the network has outputs: probabilities, or values
   * @param topK see above; for classes only
   */
  static Score score(float[] values, Batch batch, Loss loss, Metric metric, int topK) {
    return switch (loss) {
      case CROSS_ENTROPY -> {
        Score score = score(values, batch.labels(), topK);
        yield metric == Metric.ACCURACY
            ? score
            : new Score(
                score.samples(),
                score.lossSum(),
                score.correct(),
                score.correctTop(),
                score.samples(),
                metric);
      }
      case BINARY_CROSS_ENTROPY -> ofLabels(values, batch);
      case MEAN_SQUARED_ERROR -> ofValues(values, batch);
    };
  }

  private static Score ofLabels(float[] values, Batch batch) {
    double loss = 0;
    int correct = 0;
    for (int i = 0; i < values.length; i++) {
      boolean one = batch.targets()[i] > 0.5f;
      double p = one ? values[i] : 1.0 - values[i];
      loss -= Math.log(Math.max(p, SMALLEST));
      correct += values[i] > 0.5f == one ? 1 : 0;
    }
    int labels = values.length / batch.count();
    return new Score(
        batch.count(), loss / labels, correct, 0, values.length, Metric.LABEL_ACCURACY);
  }

  private static Score ofValues(float[] values, Batch batch) {
    double sum = 0;
    for (int i = 0; i < values.length; i++) {
      double difference = (double) values[i] - batch.targets()[i];
      sum += difference * difference;
    }
    int outputs = values.length / batch.count();
    return new Score(batch.count(), sum / outputs, 0, 0, 0, Metric.RMSE);
  }

  /**
   * Returns the number of classes of a sample that precede this one in the order of probability.
   */
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
