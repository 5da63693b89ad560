package io.vertigrad.compute;

import java.util.Locale;

/** The figure that a test reports besides the loss. It follows from the loss and the targets. */
public enum Metric {
  /** Samples whose class was the most probable class, in percent. */
  ACCURACY(""),
  /** Labels that were predicted on the correct side of one half, in percent of all labels. */
  LABEL_ACCURACY("labelAccuracy"),
  /** Root mean squared error, in the unit of the values. */
  RMSE("rmse"),
  /** {@code exp(loss)} of a language model; reported together with the accuracy of its tokens. */
  PERPLEXITY("perplexity");

  private final String key;

  Metric(String key) {
    this.key = key;
  }

  /**
   * Returns the name used in events and summaries.
   *
   * @return one word; empty for the accuracy, which has a field of its own
   */
  public String key() {
    return key;
  }

  /**
   * Returns the metric of this key.
   *
   * @param key a value of {@link #key}
   * @return the metric; the accuracy where no metric has this key
   */
  public static Metric of(String key) {
    for (Metric metric : values()) {
      if (metric.key.equals(key)) {
        return metric;
      }
    }
    return ACCURACY;
  }

  /**
   * Returns the metric of a model.
   *
   * @param loss that the model is trained by
   * @param tokens true when its samples are ids of tokens
   * @return the metric
   */
  public static Metric of(Loss loss, boolean tokens) {
    return switch (loss) {
      case CROSS_ENTROPY -> tokens ? PERPLEXITY : ACCURACY;
      case BINARY_CROSS_ENTROPY -> LABEL_ACCURACY;
      case MEAN_SQUARED_ERROR -> RMSE;
    };
  }

  /**
   * Computes the figure from a test's loss and accuracy.
   *
   * @param loss mean loss
   * @param accuracy in percent
   * @return percent for the accuracies
   */
  public double value(double loss, double accuracy) {
    return switch (this) {
      case ACCURACY, LABEL_ACCURACY -> accuracy;
      case RMSE -> Math.sqrt(loss);
      case PERPLEXITY -> Math.exp(loss);
    };
  }

  /**
   * Returns the name for display.
   *
   * @return such as {@code accuracy}
   */
  public String label() {
    return switch (this) {
      case ACCURACY -> "accuracy";
      case LABEL_ACCURACY -> "label accuracy";
      case RMSE -> "RMSE";
      case PERPLEXITY -> "perplexity";
    };
  }

  /**
   * Returns the short name for narrow displays.
   *
   * @return such as {@code "acc "}, with the space that follows
   */
  public String shortLabel() {
    return switch (this) {
      case ACCURACY -> "acc ";
      case LABEL_ACCURACY -> "lab ";
      case RMSE -> "RMSE ";
      case PERPLEXITY -> "ppl ";
    };
  }

  /**
   * Formats a figure for display, without the metric's name.
   *
   * @param value a result of {@link #value}
   * @return such as {@code 95.10 %}, or four significant digits
   */
  public String figure(double value) {
    return switch (this) {
      case ACCURACY, LABEL_ACCURACY -> String.format(Locale.ROOT, "%.2f %%", value);
      case RMSE -> ValueErrors.figure(value);
      case PERPLEXITY -> String.format(Locale.ROOT, "%.4g", value);
    };
  }

  /**
   * Formats a test result for display, without its loss.
   *
   * @param loss mean loss
   * @param accuracy in percent
   * @param top text after the accuracy, such as {@code " (top 3 99.00 %)"}, or empty
   * @return such as {@code accuracy 95.10 %}, {@code RMSE 0.1234}, or {@code accuracy 51.20 %,
   *     perplexity 4.712}
   */
  public String text(double loss, double accuracy, String top) {
    String own = label() + " " + figure(value(loss, accuracy));
    return this == PERPLEXITY
        ? "accuracy %s%s, %s".formatted(ACCURACY.figure(accuracy), top, own)
        : own + top;
  }
}
