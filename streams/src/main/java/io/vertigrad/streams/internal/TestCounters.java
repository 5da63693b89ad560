package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.StreamTests;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Counts the tests of one rank. One thread changes it, any thread may ask for the result. */
final class TestCounters {

  private final boolean values;
  private final long[] labels;
  private final long[] predictions;
  private final double[] window;
  private int windowAt;
  private int windowEvents;
  private double windowScore;
  private long events;
  private double score;
  private double noChange;
  private double majority;
  private double sum;
  private long unlabelled;
  private long unmatched;
  private long bad;
  private long lost;

  /**
   * Creates counters of no tests.
   *
   * @param classes number of classes; 0 for real values
   * @param window number of the last events that the window holds
   */
  TestCounters(int classes, int window) {
    this.values = classes == 0;
    this.labels = new long[classes];
    this.predictions = new long[classes];
    this.window = new double[window];
  }

  /**
   * Counts a test.
   *
   * @param label class or value of the event
   * @param prediction class or value that the model predicted
   * @param previous label of the event before; NaN if none is known
   */
  synchronized void count(float label, float prediction, float previous) {
    double now;
    if (values) {
      double mean = events == 0 ? label : sum / events;
      now = square(label - prediction);
      noChange += square(label - (Float.isNaN(previous) ? mean : previous));
      majority += square(label - mean);
      sum += label;
    } else {
      now = label == prediction ? 1 : 0;
      noChange += label == previous ? 1 : 0;
      majority += label == mostFrequent() ? 1 : 0;
      labels[(int) label]++;
      predictions[(int) prediction]++;
    }
    events++;
    score += now;
    windowScore += now - (windowEvents < window.length ? 0 : window[windowAt]);
    window[windowAt] = now;
    windowAt = (windowAt + 1) % window.length;
    windowEvents = Math.min(windowEvents + 1, window.length);
  }

  /** Sets the number of events without a label, and of labels without an event. */
  synchronized void setUnlabelled(long events, long labels) {
    unlabelled = events;
    unmatched = labels;
  }

  /** Counts events that were left out because they cannot be read, or the schema refuses them. */
  synchronized void addBad(long count) {
    bad += count;
  }

  /** Counts events that the source no longer had. */
  synchronized void addLost(long count) {
    lost += count;
  }

  synchronized StreamTests tests() {
    return new StreamTests(
        values,
        events,
        score,
        windowEvents,
        values ? exactWindowScore() : windowScore,
        noChange,
        majority,
        byClass(labels),
        byClass(predictions),
        unlabelled,
        unmatched,
        bad,
        lost);
  }

  /** Sums the window anew, because differences of real numbers add up their rounding errors. */
  private double exactWindowScore() {
    double exact = 0;
    for (int i = 0; i < windowEvents; i++) {
      exact += window[i];
    }
    return exact;
  }

  private int mostFrequent() {
    int best = 0;
    for (int i = 1; i < labels.length; i++) {
      best = labels[i] > labels[best] ? i : best;
    }
    return best;
  }

  private static double square(double error) {
    return error * error;
  }

  private static Map<Integer, Long> byClass(long[] counts) {
    Map<Integer, Long> map = new TreeMap<>();
    for (int i = 0; i < counts.length; i++) {
      if (counts[i] > 0) {
        map.put(i, counts[i]);
      }
    }
    return map;
  }

  synchronized JsonObject toJson() {
    JsonArray newest = new JsonArray();
    for (int i = 0; i < windowEvents; i++) {
      newest.add(window[(windowAt - windowEvents + i + window.length) % window.length]);
    }
    return new JsonObject()
        .put("events", events)
        .put("score", score)
        .put("noChange", noChange)
        .put("majority", majority)
        .put("sum", sum)
        .put("unlabelled", unlabelled)
        .put("unmatched", unmatched)
        .put("bad", bad)
        .put("lost", lost)
        .put("labels", json(labels))
        .put("predictions", json(predictions))
        .put("window", newest);
  }

  synchronized void restore(JsonObject json) {
    events = json.getLong("events");
    score = json.getDouble("score");
    noChange = json.getDouble("noChange");
    majority = json.getDouble("majority");
    sum = json.getDouble("sum");
    unlabelled = json.getLong("unlabelled");
    unmatched = json.getLong("unmatched");
    bad = json.getLong("bad");
    lost = json.getLong("lost");
    restore(json.getJsonArray("labels"), labels);
    restore(json.getJsonArray("predictions"), predictions);
    JsonArray newest = json.getJsonArray("window");
    windowAt = 0;
    windowEvents = 0;
    windowScore = 0;
    for (int i = Math.max(0, newest.size() - window.length); i < newest.size(); i++) {
      window[windowAt] = newest.getDouble(i);
      windowScore += window[windowAt];
      windowAt = (windowAt + 1) % window.length;
      windowEvents++;
    }
  }

  private static JsonArray json(long[] counts) {
    List<Object> list = new ArrayList<>();
    for (long count : counts) {
      list.add(count);
    }
    return new JsonArray(list);
  }

  private static void restore(JsonArray from, long[] into) {
    for (int i = 0; i < Math.min(from.size(), into.length); i++) {
      into[i] = from.getLong(i);
    }
  }
}
