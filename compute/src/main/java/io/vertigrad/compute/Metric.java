package io.vertigrad.compute;

import java.util.Locale;

/** What a test tells people beside the loss; it follows from the loss and the targets. */
public enum Metric {
  /** Samples whose class was the most probable one, in percent. */
  ACCURACY(""),
  /** Labels that were on the right side of one half, in percent of all labels. */
  LABEL_ACCURACY("labelAccuracy"),
  /** Root of the mean squared error, in the unit of the values. */
  RMSE("rmse"),
  /** {@code exp(loss)} of a language model, beside the accuracy of its tokens. */
  PERPLEXITY("perplexity");

  private final String key;

  Metric(String key) {
    this.key = key;
  }

  /**
   * How events and summaries call it.
   *
   * @return one word; empty for the accuracy, which has a place of its own
   */
  public String key() {
    return key;
  }

  /**
   * The metric of this key.
   *
   * @param key as {@link #key} gives it
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
   * The metric of a model.
   *
   * @param loss that it is trained by
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
   * Tells whether a test of it has an accuracy.
   *
   * @return false where nothing is right or wrong
   */
  public boolean hasAccuracy() {
    return this != RMSE;
  }

  /**
   * The figure, of a test's loss and accuracy.
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
   * What people call it.
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
   * What people call it where there is little room.
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
   * A figure of it as people read it, without its name.
   *
   * @param value as {@link #value} gives it
   * @return such as {@code 95.10 %}, or four digits that tell something
   */
  public String figure(double value) {
    return switch (this) {
      case ACCURACY, LABEL_ACCURACY -> String.format(Locale.ROOT, "%.2f %%", value);
      case RMSE, PERPLEXITY -> String.format(Locale.ROOT, "%.4g", value);
    };
  }

  /**
   * A test as people read it, without its loss.
   *
   * @param loss mean loss
   * @param accuracy in percent
   * @param top what follows the accuracy, such as {@code " (top 3 99.00 %)"}, or nothing
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
