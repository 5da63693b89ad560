package io.vertigrad.launcher.terminal;

import io.vertigrad.compute.Score;
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

/** What is said of a trained model that is tested, asked or written. */
public final class ModelText {

  private ModelText() {}

  /** One line about a test on the whole test set. */
  public static String test(
      Score score, int topK, String hash, String data, List<String> classNames) {
    String top = topK > 0 ? EventText.format(" (top %d %.2f %%)", topK, score.topAccuracy()) : "";
    return EventText.format(
        "%s on the whole test set of %s (%,d samples%s), loss %.4f; parameters %s",
        score.metric().text(score.loss(), score.accuracy(), top),
        data,
        score.samples(),
        classNames.isEmpty() ? "" : " of " + shown(classNames),
        score.loss(),
        hash);
  }

  private static String shown(List<String> names) {
    int most = 10;
    return String.join(", ", names.subList(0, Math.min(most, names.size())))
        + (names.size() > most ? " and %d more classes".formatted(names.size() - most) : "");
  }

  /** The same, with the keys of {@code summary.json}. */
  public static JsonObject testJson(Score score, int topK, String hash, List<String> classNames) {
    JsonObject json =
        RunSummary.put(new JsonObject(), score.metric(), score.loss(), score.accuracy())
            .put("loss", score.loss())
            .put("testSamples", score.samples())
            .put("wholeTestSet", true)
            .put("parametersHash", hash);
    if (!classNames.isEmpty()) {
      json.put("classes", new JsonArray(classNames));
    }
    return topK > 0 ? json.put("topK", topK).put("topAccuracy", score.topAccuracy()) : json;
  }

  /** One line about a sample: its class, and the next ones; by name where classes have names. */
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

  /** The same as JSON; the sample is an {@code image} or another {@code kind}. */
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

  /** One line about a sample that has several labels, or values: all of them, in their order. */
  public static String answers(String name, float[] outputs, Targets.Kind kind) {
    return name
        + ": "
        + IntStream.range(0, outputs.length)
            .mapToObj(
                k ->
                    kind == Targets.Kind.LABELS
                        ? EventText.format("label %d %.2f %%", k, 100.0 * outputs[k])
                        : EventText.format("value %d %.6g", k, outputs[k]))
            .collect(Collectors.joining(", "));
  }

  /** The same as JSON; the sample is an {@code image} or another {@code kind}. */
  public static JsonObject answersJson(
      String kind, String name, float[] outputs, Targets.Kind targets) {
    JsonArray all = new JsonArray();
    for (float output : outputs) {
      all.add(output);
    }
    return new JsonObject()
        .put(kind, name)
        .put(targets == Targets.Kind.LABELS ? "probabilities" : "values", all);
  }

  /** One line about a text: the token that follows it, and the next probable ones. */
  public static String nextToken(
      String name, float[] probabilities, int top, IntFunction<String> text) {
    return name
        + ": "
        + best(probabilities, top).stream()
            .map(k -> EventText.format("%s %.2f %%", token(k, text), 100.0 * probabilities[k]))
            .collect(Collectors.joining(", "));
  }

  /** The same as JSON. */
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

  /** Quoted, and with its line breaks to be seen; a part of a character as the byte that it is. */
  private static String token(int id, IntFunction<String> text) {
    String meant = text.apply(id);
    return meant.indexOf('\uFFFD') < 0 ? Json.encode(meant) : "byte " + id;
  }

  /** One line about a file. */
  public static String written(Path file, String format, long bytes, String hash) {
    return EventText.format("saved %s: %s, %,d bytes; parameters %s", file, format, bytes, hash);
  }

  /** The most probable classes; of equally probable ones the first. */
  private static List<Integer> best(float[] probabilities, int top) {
    return IntStream.range(0, probabilities.length)
        .boxed()
        .sorted(Comparator.comparingDouble(k -> -probabilities[k]))
        .limit(top)
        .toList();
  }
}
