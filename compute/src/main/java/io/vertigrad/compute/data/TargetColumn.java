package io.vertigrad.compute.data;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.ValueErrors;
import java.util.ArrayList;
import java.util.List;

/**
 * A label or real value that a model predicts. The model is trained on {@code (value - mean) /
 * deviation}; labels are not standardised.
 *
 * @param name name of the column or field
 * @param mean mean of the training samples; 0 for a value that is not standardised
 * @param deviation their standard deviation; 1 for a value that is not standardised or is constant
 */
public record TargetColumn(String name, double mean, double deviation) {

  /**
   * Returns the number that a model is trained on.
   *
   * @param value value in its own unit
   * @return the value in standard deviations from the mean
   */
  public float standardised(double value) {
    return (float) ((value - mean) / deviation);
  }

  /**
   * Returns a value in its own unit.
   *
   * @param output output of a model, in standard deviations from the mean
   * @return the value
   */
  public double value(double output) {
    return output * deviation + mean;
  }

  /**
   * Returns the score of predictions: the loss in standard deviations, and the errors of each value
   * in its own unit.
   *
   * @param columns the values of a sample
   * @param samples number of samples
   * @param outputs outputs of a model for them
   * @param targets what the model is trained on
   * @return the score
   */
  public static Score score(
      List<TargetColumn> columns, int samples, float[] outputs, float[] targets) {
    int width = columns.size();
    double loss = 0;
    double[] squares = new double[width];
    double[] absolutes = new double[width];
    for (int i = 0; i < outputs.length; i++) {
      double error = (double) outputs[i] - targets[i];
      loss += error * error;
      double inUnit = error * columns.get(i % width).deviation;
      squares[i % width] += inUnit * inUnit;
      absolutes[i % width] += Math.abs(inUnit);
    }
    List<ValueErrors> errors = new ArrayList<>();
    for (int i = 0; i < width; i++) {
      double rmse = Math.sqrt(squares[i] / samples);
      errors.add(new ValueErrors(columns.get(i).name, rmse, absolutes[i] / samples));
    }
    return new Score(samples, loss / width, 0, 0, 0, Metric.RMSE, errors);
  }
}
