package io.vertigrad.launcher.terminal;

import io.vertigrad.compute.Score;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What is said of a trained model that is tested, asked or written. */
public final class ModelText {

  private ModelText() {}

  /** One line about a test on the whole test set. */
  public static String test(Score score, int topK, String hash, String data) {
    String top = topK > 0 ? EventText.format(" (top %d %.2f %%)", topK, score.topAccuracy()) : "";
    return EventText.format(
        "accuracy %.2f %%%s on the whole test set of %s (%,d samples), loss %.4f; parameters %s",
        score.accuracy(), top, data, score.samples(), score.loss(), hash);
  }

  /** The same, with the keys of {@code summary.json}. */
  public static JsonObject testJson(Score score, int topK, String hash) {
    JsonObject json =
        new JsonObject()
            .put("accuracy", score.accuracy())
            .put("loss", score.loss())
            .put("testSamples", score.samples())
            .put("wholeTestSet", true)
            .put("parametersHash", hash);
    return topK > 0 ? json.put("topK", topK).put("topAccuracy", score.topAccuracy()) : json;
  }

  /** One line about an image: its class, and the next ones. */
  public static String prediction(String name, float[] probabilities, int top) {
    return name
        + ": "
        + best(probabilities, top).stream()
            .map(k -> EventText.format("class %d %.2f %%", k, 100.0 * probabilities[k]))
            .collect(Collectors.joining(", "));
  }

  /** The same as JSON. */
  public static JsonObject predictionJson(String name, float[] probabilities, int top) {
    List<Integer> best = best(probabilities, top);
    JsonArray classes = new JsonArray();
    best.forEach(
        k -> classes.add(new JsonObject().put("class", k).put("probability", probabilities[k])));
    return new JsonObject()
        .put("image", name)
        .put("class", best.get(0))
        .put("probability", probabilities[best.get(0)])
        .put("top", classes);
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
