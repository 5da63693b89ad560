package io.vertigrad.launcher.terminal;

import io.vertigrad.compute.Score;
import io.vertigrad.compute.Share;
import io.vertigrad.compute.Targets;
import io.vertigrad.launcher.run.RunSummary;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Formats what the commands print about a trained model. */
public final class ModelText {

  private ModelText() {}

  /** Returns a line about a test on the whole test set. */
  public static String test(
      Score score, int topK, String hash, String data, List<String> classNames) {
    String top = topK > 0 ? EventText.format(" (top %d %.2f %%)", topK, score.topAccuracy()) : "";
    return EventText.format(
        "%s on the whole test set of %s (%,d samples%s), loss %.4f; parameters %s",
        score.text(top),
        data,
        score.samples(),
        classNames.isEmpty() ? "" : " of " + shown(classNames),
        score.loss(),
        hash);
  }

  private static String shown(List<String> names) {
    int most = 10;
    return String.join(", ", names.subList(0, Math.min(most, names.size())))
        + (names.size() > most ? " and %s more classes".formatted(names.size() - most) : "");
  }

  /** Returns the same test with the keys of {@code summary.json}. */
  public static JsonObject testJson(Score score, int topK, String hash, List<String> classNames) {
    JsonObject json =
        RunSummary.put(
                new JsonObject(),
                score.metric(),
                score.metricValue(),
                score.accuracy(),
                score.errors())
            .put("loss", score.loss())
            .put("testSamples", score.samples())
            .put("wholeTestSet", true)
            .put("parametersHash", hash);
    if (!classNames.isEmpty()) {
      json.put("classes", new JsonArray(classNames));
    }
    return topK > 0 ? json.put("topK", topK).put("topAccuracy", score.topAccuracy()) : json;
  }

  /** Returns a line about a sample: the most probable classes, by name if they have names. */
  public static String prediction(
      String name, float[] probabilities, int top, List<String> classNames) {
    return name
        + ": "
        + best(probabilities, top).stream()
            .map(
                k ->
                    EventText.format(
                        "%s %.2f %%",
                        classNames.isEmpty() ? "class " + k : classNames.get(k),
                        100.0 * probabilities[k]))
            .collect(Collectors.joining(", "));
  }

  /**
   * Returns the same prediction as JSON. {@code kind} is the key of the sample's name, such as
   * {@code image}.
   */
  public static JsonObject predictionJson(
      String kind, String name, float[] probabilities, int top, List<String> classNames) {
    List<Integer> best = best(probabilities, top);
    JsonArray classes = new JsonArray();
    best.forEach(k -> classes.add(classJson(new JsonObject(), k, probabilities, classNames)));
    return classJson(new JsonObject().put(kind, name), best.get(0), probabilities, classNames)
        .put("top", classes);
  }

  private static JsonObject classJson(
      JsonObject json, int k, float[] probabilities, List<String> classNames) {
    json.put("class", k);
    if (!classNames.isEmpty()) {
      json.put("name", classNames.get(k));
    }
    return json.put("probability", probabilities[k]);
  }

  /**
   * Returns a line about a sample with several labels or values: all of them, in order.
   *
   * @param names names of the labels or values; empty if they have none
   */
  public static String answers(
      String name, float[] outputs, Targets.Kind kind, List<String> names) {
    return name
        + ": "
        + IntStream.range(0, outputs.length)
            .mapToObj(k -> answer(k, outputs[k], kind, names))
            .collect(Collectors.joining(", "));
  }

  private static String answer(int k, float output, Targets.Kind kind, List<String> names) {
    boolean label = kind == Targets.Kind.LABELS;
    return "%s %s"
        .formatted(
            names.isEmpty() ? (label ? "label " : "value ") + k : names.get(k),
            label ? new Share(output) : decimal(output));
  }

  /** Returns the digits that a float has, without an exponent where people write none. */
  private static String decimal(float value) {
    double size = Math.abs(value);
    return size >= 1e6 && size < 1e12
        ? EventText.format("%.0f", value)
        : EventText.format("%.6g", value);
  }

  /**
   * Returns the same answers as JSON. {@code kind} is the key of the sample's name, such as {@code
   * image}; {@code names} are those of {@link #answers}.
   */
  public static JsonObject answersJson(
      String kind, String name, float[] outputs, Targets.Kind targets, List<String> names) {
    JsonArray all = new JsonArray();
    for (float output : outputs) {
      all.add(output);
    }
    JsonObject json =
        new JsonObject()
            .put(kind, name)
            .put(targets == Targets.Kind.LABELS ? "probabilities" : "values", all);
    return names.isEmpty() ? json : json.put("names", new JsonArray(names));
  }

  /** Returns a line about a text: the most probable tokens that follow it. */
  public static String nextToken(
      String name, float[] probabilities, int top, IntFunction<String> text) {
    return name
        + ": "
        + best(probabilities, top).stream()
            .map(k -> EventText.format("%s %.2f %%", token(k, text), 100.0 * probabilities[k]))
            .collect(Collectors.joining(", "));
  }

  /** Returns the same tokens as JSON. */
  public static JsonObject nextTokenJson(
      String name, float[] probabilities, int top, IntFunction<String> text) {
    JsonArray tokens = new JsonArray();
    best(probabilities, top)
        .forEach(
            k ->
                tokens.add(
                    new JsonObject()
                        .put("token", k)
                        .put("text", text.apply(k))
                        .put("probability", probabilities[k])));
    return new JsonObject().put("text", name).put("next", tokens);
  }

  /**
   * Returns a token in quotes with visible line breaks; a part of a character appears as its byte.
   */
  private static String token(int id, IntFunction<String> text) {
    String meant = text.apply(id);
    return meant.indexOf('\uFFFD') < 0 ? Json.encode(meant) : "byte " + id;
  }

  /** Returns a line about a written file. */
  public static String written(Path file, String format, long bytes, String hash) {
    return EventText.format("saved %s: %s, %,d bytes; parameters %s", file, format, bytes, hash);
  }

  /** Returns the most probable classes; the first of equally probable ones comes first. */
  private static List<Integer> best(float[] probabilities, int top) {
    return IntStream.range(0, probabilities.length)
        .boxed()
        .sorted(Comparator.comparingDouble(k -> -probabilities[k]))
        .limit(top)
        .toList();
  }
}
