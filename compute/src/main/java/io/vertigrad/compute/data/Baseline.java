package io.vertigrad.compute.data;

import io.vertigrad.compute.Divergence;
import io.vertigrad.compute.Metric;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * What a constant answer scores on a test set: the most frequent class, each token by its
 * frequency, the more frequent value of each label, or the mean of each value. A model that is no
 * better has learned nothing that counts.
 *
 * @param metric figure of the test
 * @param value the constant answer's figure; in the unit of the value if there is one only
 * @param answer the constant answer, for people
 */
public record Baseline(Metric metric, double value, String answer) {

  /** Key in {@code summary.json}. */
  public static final String KEY = "baseline";

  /**
   * Computes the score of the best constant answer; reads the targets of all samples.
   *
   * @param test the test set
   * @param columns its real values; empty if it has none, or they have no names
   * @return empty for no samples
   */
  public static Optional<Baseline> of(Dataset test, List<TargetColumn> columns) {
    if (test.size() == 0) {
      return Optional.empty();
    }
    return Optional.of(
        switch (test.targets().kind()) {
          case CLASS -> test.tokens() > 0 ? frequencies(test) : majority(test);
          case LABELS -> labels(test);
          case VALUES -> mean(test, columns);
        });
  }

  private static Baseline majority(Dataset test) {
    long[] counts = counts(test);
    int most = 0;
    for (int k = 1; k < counts.length; k++) {
      most = counts[k] > counts[most] ? k : most;
    }
    String name = test.classNames().isEmpty() ? String.valueOf(most) : test.classNames().get(most);
    return new Baseline(
        Metric.ACCURACY,
        100.0 * counts[most] / Arrays.stream(counts).sum(),
        "class %s always".formatted(name));
  }

  private static Baseline frequencies(Dataset test) {
    long[] counts = counts(test);
    double all = Arrays.stream(counts).sum();
    double entropy = 0;
    for (long count : counts) {
      entropy -= count == 0 ? 0 : count / all * Math.log(count / all);
    }
    return new Baseline(Metric.PERPLEXITY, Math.exp(entropy), "each token by its frequency");
  }

  /** Returns the number of positions with each class. */
  private static long[] counts(Dataset test) {
    int[] labels = new int[test.targets().positions()];
    long[] counts = new long[test.classes()];
    for (int i = 0; i < test.size(); i++) {
      test.readLabels(i, labels, 0);
      for (int label : labels) {
        counts[label]++;
      }
    }
    return counts;
  }

  private static Baseline labels(Dataset test) {
    double[] sums = sums(test, new double[test.classes()], 1);
    double correct = 0;
    for (double ones : sums) {
      correct += Math.max(ones, test.size() - ones);
    }
    double share = correct / sums.length / test.size();
    return new Baseline(
        Metric.LABEL_ACCURACY, 100 * share, "the more frequent value of each label always");
  }

  private static Baseline mean(Dataset test, List<TargetColumn> columns) {
    double[] means = sums(test, new double[test.classes()], 1);
    for (int i = 0; i < means.length; i++) {
      means[i] /= test.size();
    }
    double squares = 0;
    for (double sum : sums(test, means, 2)) {
      squares += sum;
    }
    double rmse = Math.sqrt(squares / means.length / test.size());
    boolean single = columns.size() == 1;
    return new Baseline(
        Metric.RMSE,
        single ? rmse * columns.get(0).deviation() : rmse,
        single ? "the mean of %s always".formatted(columns.get(0).name()) : "the means always");
  }

  /** Returns by target the sum of its differences to a number, or of their squares. */
  private static double[] sums(Dataset test, double[] from, int power) {
    float[] values = new float[from.length];
    double[] sums = new double[from.length];
    for (int i = 0; i < test.size(); i++) {
      test.readTargets(i, values, 0);
      for (int k = 0; k < values.length; k++) {
        double difference = values[k] - from[k];
        sums[k] += power == 1 ? difference : difference * difference;
      }
    }
    return sums;
  }

  /**
   * Returns the constant answer that a finished model is no better than.
   *
   * @param summary {@code summary.json} of a run
   * @return empty for a model that is better, for a run that did not finish, and without one
   */
  public static Optional<Baseline> unbeatenIn(JsonObject summary) {
    return summary.getValue(KEY) instanceof JsonObject found
            && Boolean.FALSE.equals(found.getValue("beaten"))
            && "finished".equals(summary.getValue("state"))
            && found.getValue("value") instanceof Number value
        ? Optional.of(
            new Baseline(
                Metric.of(found.getString("metric")),
                value.doubleValue(),
                found.getString("answer")))
        : Optional.empty();
  }

  /**
   * Writes this answer for {@code summary.json}, where {@link #unbeatenIn} finds it.
   *
   * @param figure of the model on the same samples, as {@link #isBeatenBy} takes it
   * @return a new object
   */
  public JsonObject toJson(double figure) {
    return new JsonObject()
        .put("metric", metric.key())
        .put("value", value)
        .put("answer", answer)
        .put("beaten", isBeatenBy(figure));
  }

  /**
   * Says what this answer scores.
   *
   * @param summary {@code summary.json} of the run
   * @return such as {@code class 3 always has accuracy 57.00 % on the test set}
   */
  public String found(JsonObject summary) {
    return "%s has %s %s on the %s"
        .formatted(
            answer,
            metric.label(),
            metric.figure(value),
            summary.containsKey("testSamples") ? "test set" : "same events");
  }

  /**
   * Returns what to try for a model that is not better.
   *
   * @param job resolved job file
   * @return a sentence without its full stop
   */
  public static String remedy(JsonObject job) {
    boolean columns =
        "csv".equals(job.getJsonObject("data", new JsonObject()).getString("name", ""));
    return "Try another %s, a tenth or ten times as much, or train longer%s"
        .formatted(
            Divergence.rate(job), columns ? "; check that the label is the right column" : "");
  }

  /**
   * Returns whether a model's figure is better than that of the constant answer.
   *
   * @param figure accuracy in percent, RMSE or perplexity
   * @return false for equal figures, and for NaN
   */
  public boolean isBeatenBy(double figure) {
    boolean error = metric == Metric.RMSE || metric == Metric.PERPLEXITY;
    return error ? figure < value : figure > value;
  }
}
