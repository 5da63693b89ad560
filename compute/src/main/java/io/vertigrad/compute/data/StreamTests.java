package io.vertigrad.compute.data;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Share;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import java.util.TreeMap;

/**
 * The tests of a stream, each of a sample before the model was trained on it, and those of two
 * rules that need no model. For classes the scores are numbers of right answers, for values sums of
 * squared errors.
 *
 * @param values false if the samples have classes, true if they have real values
 * @param events number of samples tested
 * @param score score of the model
 * @param windowEvents number of the last samples that the window holds
 * @param windowScore score of the model in that window
 * @param noChange score of the rule that the last label comes again
 * @param majority score of the rule that the most frequent label so far comes; the mean so far for
 *     values
 * @param labels number of samples by class; empty for values
 * @param predictions number of predictions by class; empty for values
 * @param unlabelled number of samples whose label did not come in time, which were not tested
 * @param unmatched number of labels that found no sample: they came too late, or it never came
 * @param bad number of samples that were left out because they cannot be read or do not fit
 * @param lost number of samples that the source no longer had when they were to be read
 */
public record StreamTests(
    boolean values,
    long events,
    double score,
    long windowEvents,
    double windowScore,
    double noChange,
    double majority,
    Map<Integer, Long> labels,
    Map<Integer, Long> predictions,
    long unlabelled,
    long unmatched,
    long bad,
    long lost) {

  /** No tests of samples with classes. */
  public static final StreamTests NONE =
      new StreamTests(false, 0, 0, 0, 0, 0, 0, Map.of(), Map.of(), 0, 0, 0, 0);

  /** Copies the maps. */
  public StreamTests {
    labels = Map.copyOf(labels);
    predictions = Map.copyOf(predictions);
  }

  /**
   * Returns these tests and others together.
   *
   * @param other tests of other samples
   * @return the sums
   */
  public StreamTests plus(StreamTests other) {
    return new StreamTests(
        values || other.values,
        events + other.events,
        score + other.score,
        windowEvents + other.windowEvents,
        windowScore + other.windowScore,
        noChange + other.noChange,
        majority + other.majority,
        sum(labels, other.labels),
        sum(predictions, other.predictions),
        unlabelled + other.unlabelled,
        unmatched + other.unmatched,
        bad + other.bad,
        lost + other.lost);
  }

  /**
   * Returns the model's accuracy, or its root mean squared error for values.
   *
   * @return a share from 0 to 1, or an error; NaN without tests
   */
  public double figure() {
    return figure(score, events);
  }

  /**
   * Returns the same figure over the window.
   *
   * @return as {@link #figure}
   */
  public double windowFigure() {
    return figure(windowScore, windowEvents);
  }

  /**
   * Returns the same figure of the rule that the last label comes again.
   *
   * @return as {@link #figure}
   */
  public double noChangeFigure() {
    return figure(noChange, events);
  }

  /**
   * Returns the same figure of the rule that the most frequent label comes, or the mean.
   *
   * @return as {@link #figure}
   */
  public double majorityFigure() {
    return figure(majority, events);
  }

  /**
   * Returns a figure as tests of a test set report it.
   *
   * @param figure as {@link #figure}
   * @return an accuracy in percent, or the error
   */
  public double asTest(double figure) {
    return values ? figure : new Share(figure).percent();
  }

  /**
   * Returns what the rule scores that the most frequent class comes, or the mean.
   *
   * @return the rule, for the same samples; NaN without tests
   */
  public Baseline baseline() {
    return new Baseline(
        values ? Metric.RMSE : Metric.ACCURACY,
        asTest(majorityFigure()),
        values ? "the mean so far always" : "the most frequent class so far always");
  }

  /**
   * Returns Cohen's kappa: how much of what chance leaves over the model gets right.
   *
   * @return at most 1, 0 for chance; NaN for values and without tests
   */
  public double kappa() {
    double chance = 0;
    for (Map.Entry<Integer, Long> label : labels.entrySet()) {
      double predicted = predictions.getOrDefault(label.getKey(), 0L);
      chance += (label.getValue() / (double) events) * (predicted / events);
    }
    return values ? Double.NaN : chance == 1 ? 0 : (figure() - chance) / (1 - chance);
  }

  /**
   * Returns the figures as {@code summary.json} has them: shares from 0 to 1, or root mean squared
   * errors.
   *
   * @return a new object; figures that are not known are left out
   */
  public JsonObject toJson() {
    JsonObject json = new JsonObject().put("events", events);
    put(json, values ? "rmse" : "accuracy", figure());
    put(json, values ? "windowRmse" : "windowAccuracy", windowFigure());
    put(json, "kappa", kappa());
    put(json, "noChange", noChangeFigure());
    put(json, values ? "mean" : "majority", majorityFigure());
    put(json, "unlabelled", unlabelled);
    put(json, "unmatched", unmatched);
    put(json, "bad", bad);
    put(json, "lost", lost);
    return json;
  }

  private static void put(JsonObject json, String key, long count) {
    if (count > 0) {
      json.put(key, count);
    }
  }

  private static void put(JsonObject json, String key, double value) {
    if (Double.isFinite(value)) {
      json.put(key, value);
    }
  }

  private double figure(double sum, long count) {
    double mean = count == 0 ? Double.NaN : sum / count;
    return values ? Math.sqrt(mean) : mean;
  }

  private static Map<Integer, Long> sum(Map<Integer, Long> some, Map<Integer, Long> others) {
    Map<Integer, Long> sums = new TreeMap<>(some);
    others.forEach((key, count) -> sums.merge(key, count, Long::sum));
    return sums;
  }
}
