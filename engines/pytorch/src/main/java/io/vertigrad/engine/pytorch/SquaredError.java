package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;

/** Squared differences of outputs and values. A sample's loss is the mean over its values. */
final class SquaredError implements BatchLoss {

  private final float[] outputs;
  private final int values;
  private double lossSum;

  /**
   * Copies a module's output.
   *
   * @param output {@code samples * values} numbers, sample after sample
   */
  SquaredError(FloatBuffer output, int values) {
    this.outputs = new float[output.remaining()];
    this.values = values;
    output.get(outputs);
  }

  @Override
  public Score score(Batch batch, int topK) {
    compare(batch.targets());
    return new Score(batch.count(), lossSum, 0, 0, 0, Metric.RMSE);
  }

  @Override
  public void gradient(Batch batch, FloatBuffer gradient, float scale) {
    compare(batch.targets());
    float[] found = new float[outputs.length];
    for (int i = 0; i < outputs.length; i++) {
      found[i] = (float) (2 * ((double) outputs[i] - batch.targets()[i]) * scale / values);
    }
    gradient.put(found);
  }

  @Override
  public float[] probabilities() {
    return outputs.clone();
  }

  @Override
  public double lossSum() {
    return lossSum;
  }

  @Override
  public int correct() {
    return -1;
  }

  private void compare(float[] truth) {
    double sum = 0;
    for (int i = 0; i < outputs.length; i++) {
      double difference = (double) outputs[i] - truth[i];
      sum += difference * difference;
    }
    lossSum = sum / values;
  }
}
