package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.TargetColumn;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * The columns of a training file and the values fitted to its rows: enough to turn another line
 * into the same inputs. It is saved with a model.
 *
 * @param count columns of a line
 * @param names names in line 1; empty without a header
 * @param targets columns of the targets, from 0
 * @param features columns of the inputs, from 0
 * @param words by feature, its sorted words if it is a category
 * @param classes names of the classes; empty if labels are numbers from 0
 * @param fill by feature, the value that replaces a missing one; empty if missing values are
 *     refused
 * @param means by feature, the mean of the training rows; empty if values are not standardised
 * @param deviations by feature, the standard deviation, 1 for a constant column; empty like the
 *     means
 * @param targetMeans by target, the mean of the training rows; empty if targets are not
 *     standardised
 * @param targetDeviations by target, the standard deviation, 1 for a constant column; empty like
 *     the means
 */
record CsvColumns(
    int count,
    List<String> names,
    List<Integer> targets,
    List<Integer> features,
    Map<Integer, List<String>> words,
    List<String> classes,
    List<Double> fill,
    List<Double> means,
    List<Double> deviations,
    List<Double> targetMeans,
    List<Double> targetDeviations) {

  CsvColumns {
    names = List.copyOf(names);
    targets = List.copyOf(targets);
    features = List.copyOf(features);
    words = Collections.unmodifiableMap(new TreeMap<>(words));
    classes = List.copyOf(classes);
    fill = List.copyOf(fill);
    means = List.copyOf(means);
    deviations = List.copyOf(deviations);
    targetMeans = List.copyOf(targetMeans);
    targetDeviations = List.copyOf(targetDeviations);
  }

  /** Returns the columns before anything is fitted. */
  static CsvColumns of(
      int count, List<String> names, List<Integer> targets, List<Integer> features) {
    return new CsvColumns(
        count, names, targets, features, Map.of(), List.of(), List.of(), List.of(), List.of(),
        List.of(), List.of());
  }

  /** Returns the targets by name, or by number if there are no names, as they are standardised. */
  List<TargetColumn> targetColumns() {
    return IntStream.range(0, targets.size())
        .mapToObj(
            i ->
                new TargetColumn(
                    names.isEmpty() ? "column " + (targets.get(i) + 1) : names.get(targets.get(i)),
                    targetMeans.isEmpty() ? 0 : targetMeans.get(i),
                    targetMeans.isEmpty() ? 1 : targetDeviations.get(i)))
        .toList();
  }

  /**
   * Returns the number of inputs of one sample: one for a number, one for each word of a category.
   */
  int inputs() {
    return features.size() - words.size() + words.values().stream().mapToInt(List::size).sum();
  }

  /** Returns the name of a column for messages, counted from 1. */
  String name(int column) {
    return "column %s%s"
        .formatted(column + 1, column < names.size() ? " (\"" + names.get(column) + "\")" : "");
  }

  /**
   * Turns the raw values of a line into inputs. Values are standardised as doubles, because values
   * that differ by little of their size, such as seconds since 1970, are one float32.
   *
   * @param row by feature its value, NaN if it is missing, or the index of its word
   * @param scale factor on values that are not standardised
   * @throws DataException naming the column, when an input is beyond the range of float32
   */
  float[] inputs(double[] row, float scale) {
    float[] inputs = new float[inputs()];
    int at = 0;
    for (int i = 0; i < row.length; i++) {
      List<String> found = words.get(i);
      if (found != null) {
        if (!Double.isNaN(row[i])) {
          inputs[at + (int) row[i]] = 1;
        }
        at += found.size();
        continue;
      }
      double value = Double.isNaN(row[i]) ? fill.get(i) : row[i];
      inputs[at] =
          means.isEmpty()
              ? (float) value * scale
              : (float) ((value - means.get(i)) / deviations.get(i));
      if (!Float.isFinite(inputs[at])) {
        throw new DataException(
            "%s is %s, which is %s as an input, expected the range of float32"
                .formatted(
                    name(features.get(i)),
                    means.isEmpty() ? Float.toString((float) value) : Double.toString(value),
                    inputs[at]));
      }
      at++;
    }
    return inputs;
  }

  JsonObject toJson() {
    JsonObject json = new JsonObject().put("count", count);
    json.put("targets", new JsonArray(new ArrayList<>(targets)));
    if (!isAllOthers()) {
      json.put("features", new JsonArray(new ArrayList<>(features)));
    }
    put(json, "names", names);
    put(json, "classes", classes);
    put(json, "fill", fill);
    put(json, "means", means);
    put(json, "deviations", deviations);
    put(json, "targetMeans", targetMeans);
    put(json, "targetDeviations", targetDeviations);
    if (!words.isEmpty()) {
      JsonObject byFeature = new JsonObject();
      words.forEach((feature, list) -> put(byFeature, feature.toString(), list));
      json.put("words", byFeature);
    }
    return json;
  }

  /**
   * Reads the output of {@link #toJson}.
   *
   * @throws RuntimeException when it is something else
   */
  static CsvColumns fromJson(JsonObject json) {
    List<Integer> targets = numbers(json, "targets").stream().map(Number::intValue).toList();
    int count = json.getInteger("count");
    Map<Integer, List<String>> words = new TreeMap<>();
    JsonObject byFeature = json.getJsonObject("words", new JsonObject());
    for (String feature : byFeature.fieldNames()) {
      words.put(Integer.valueOf(feature), texts(byFeature, feature));
    }
    CsvColumns columns =
        new CsvColumns(
            count,
            texts(json, "names"),
            targets,
            json.containsKey("features")
                ? numbers(json, "features").stream().map(Number::intValue).toList()
                : others(count, targets),
            words,
            texts(json, "classes"),
            doubles(json, "fill"),
            doubles(json, "means"),
            doubles(json, "deviations"),
            doubles(json, "targetMeans"),
            doubles(json, "targetDeviations"));
    columns.check();
    return columns;
  }

  private void check() {
    int size = features.size();
    boolean fits =
        size > 0
            && features.stream().allMatch(column -> column >= 0 && column < count)
            && targets.stream().allMatch(column -> column >= 0 && column < count)
            && words.keySet().stream().allMatch(feature -> feature >= 0 && feature < size)
            && (names.isEmpty() || names.size() == count)
            && (fill.isEmpty() || fill.size() == size)
            && means.size() == deviations.size()
            && (means.isEmpty() || means.size() == size)
            && targetMeans.size() == targetDeviations.size()
            && (targetMeans.isEmpty() || targetMeans.size() == targets.size());
    if (!fits) {
      throw new IllegalArgumentException("columns of a csv file that do not go together");
    }
  }

  private boolean isAllOthers() {
    return features.equals(others(count, targets));
  }

  private static List<Integer> others(int count, List<Integer> targets) {
    return IntStream.range(0, count).filter(i -> !targets.contains(i)).boxed().toList();
  }

  private static void put(JsonObject json, String key, List<?> list) {
    if (!list.isEmpty()) {
      json.put(key, new JsonArray(new ArrayList<>(list)));
    }
  }

  private static List<String> texts(JsonObject json, String key) {
    return json.getJsonArray(key, new JsonArray()).stream().map(String.class::cast).toList();
  }

  private static List<Double> doubles(JsonObject json, String key) {
    return numbers(json, key).stream().map(Number::doubleValue).toList();
  }

  private static List<Number> numbers(JsonObject json, String key) {
    return json.getJsonArray(key, new JsonArray()).stream().map(Number.class::cast).toList();
  }
}
