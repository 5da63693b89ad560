package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;

/**
 * Sigmoid and negative log-likelihood of labels that are 0 or 1, from logits: {@code log(1 +
 * exp(z)) - y z}. A sample's loss is the mean over its labels.
 */
final class BinaryCrossEntropy implements BatchLoss {

  private final float[] logits;
  private final int labels;
  private double lossSum;
  private int correct;

  /**
   * Copies a module's output.
   *
   * @param output {@code samples * labels} logits, sample after sample
   */
  BinaryCrossEntropy(FloatBuffer output, int labels) {
    this.logits = new float[output.remaining()];
    this.labels = labels;
    output.get(logits);
  }

  @Override
  public Score score(Batch batch, int topK) {
    compare(batch.targets());
    return new Score(batch.count(), lossSum, correct, 0, logits.length, Metric.LABEL_ACCURACY);
  }

  @Override
  public void gradient(Batch batch, FloatBuffer gradient, float scale) {
    compare(batch.targets());
    float[] found = new float[logits.length];
    for (int i = 0; i < logits.length; i++) {
      found[i] = (float) ((sigmoid(logits[i]) - batch.targets()[i]) * scale / labels);
    }
    gradient.put(found);
  }

  @Override
  public float[] probabilities() {
    float[] found = new float[logits.length];
    for (int i = 0; i < logits.length; i++) {
      found[i] = (float) sigmoid(logits[i]);
    }
    return found;
  }

  @Override
  public double lossSum() {
    return lossSum;
  }

  @Override
  public int correct() {
    return correct;
  }

  private void compare(float[] truth) {
    double sum = 0;
    correct = 0;
    for (int i = 0; i < logits.length; i++) {
      double z = logits[i];
      // exp of a negative number does not overflow, and log1p keeps the precision of a small one.
      sum += Math.max(z, 0) - z * truth[i] + Math.log1p(Math.exp(-Math.abs(z)));
      correct += z > 0 == truth[i] > 0.5f ? 1 : 0;
    }
    lossSum = sum / labels;
  }

  private static double sigmoid(double z) {
    double e = Math.exp(-Math.abs(z));
    return (z < 0 ? e : 1) / (1 + e);
  }
}
