package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests {@code predict} with models whose samples are not images. */
@Tag("slow")
class PredictTest {

  @TempDir private Path folder;

  @Test
  void shouldPredictValuesOfEachLineWhenTheModelWasTrainedOnThem() throws IOException {
    Path run = trained("../examples/losses/regression.json", "../examples/losses/regression");
    List<String> flights =
        Files.readAllLines(Path.of("../examples/losses/regression/test.csv")).subList(0, 5);
    Path whole = Files.write(folder.resolve("whole.csv"), flights);
    Path values = Files.write(folder.resolve("values.csv"), firstThree(flights));

    List<JsonObject> predictions =
        predictions("predict", run.toString(), whole.toString(), "--json");
    List<JsonObject> same = predictions("predict", run.toString(), values.toString(), "--json");

    Path large = Files.writeString(folder.resolve("large.csv"), "3e38,-3e38,3e38\n");
    assertRefused(
        CommandRun.of("predict", run.toString(), large.toString()),
        large + "[0]: the model answers ");
    assertEquals(5, predictions.size());
    for (int i = 0; i < 5; i++) {
      String[] cells = flights.get(i).split(",");
      JsonArray found = predictions.get(i).getJsonArray("values");
      assertEquals(whole + "[" + i + "]", predictions.get(i).getString("sample"));
      assertEquals(Double.parseDouble(cells[3]), found.getDouble(0), 0.2, "how far");
      assertEquals(Double.parseDouble(cells[4]), found.getDouble(1), 0.2, "how high");
      assertEquals(found, same.get(i).getJsonArray("values"), "without the columns of targets");
    }
  }

  @Test
  void shouldPredictEveryLabelWhenTheModelWasTrainedOnLabels() throws IOException {
    Path run = trained("../examples/losses/labels.json", "../examples/losses/labels");
    List<String> flights =
        Files.readAllLines(Path.of("../examples/losses/labels/test.csv")).subList(0, 100);
    Path file = Files.write(folder.resolve("flights.csv"), firstThree(flights));

    List<JsonObject> predictions =
        predictions("predict", run.toString(), file.toString(), "--json");
    CommandRun lines = CommandRun.of("predict", run.toString(), file.toString());

    int right = 0;
    for (int i = 0; i < 100; i++) {
      String[] cells = flights.get(i).split(",");
      JsonArray found = predictions.get(i).getJsonArray("probabilities");
      for (int k = 0; k < 3; k++) {
        right += found.getDouble(k) > 0.5 == cells[3 + k].equals("1") ? 1 : 0;
      }
    }
    assertTrue(right > 285, right + " of 300");
    String first = lines.out().lines().findFirst().orElseThrow();
    assertTrue(
        first.matches(
            "\\Q"
                + file
                + "\\E\\[0\\]: column 4 [0-9.]+ %, column 5 [0-9.]+ %, column 6 [0-9.]+ %"),
        first);
    assertRefused(
        CommandRun.of(
            "predict",
            run.toString(),
            Files.writeString(folder.resolve("two.csv"), "1,2\n").toString()),
        "two.csv:1: 2 columns, expected 3, the values of a sample, or 6 with what the model tells"
            + " in column 4, 5, 6");
    assertRefused(
        CommandRun.of("predict", run.toString(), file.toString(), "--continue", "3"),
        "--continue: " + run + "/model.zip was not trained on a text (data set csv)");
  }

  @Test
  void shouldReadARowWithAnyFirstCharacterAndSeparator() throws IOException {
    StringBuilder films = new StringBuilder("length\tformat\n");
    for (int i = 0; i < 40; i++) {
      films.append(i % 2 == 0 ? "-3,%d\t2D\n".formatted(i) : "3,%d\t3D\n".formatted(i));
    }
    Path data = Files.writeString(folder.resolve("films.tsv"), films);
    Path job =
        Files.writeString(
            folder.resolve("job.json"),
            new JsonObject()
                .put("job", "films")
                .put("steps", 60)
                .put(
                    "data",
                    JsonObject.of(
                        "name", "csv", "label", "format", "separator", "\t", "decimal", ","))
                .put("model", JsonObject.of("name", "mlp", "hidden", 16))
                .put("optimizer", JsonObject.of("name", "adam", "learningRate", 0.01))
                .put("workers", JsonObject.of("count", 1, "batch", 16))
                .put("evaluator", JsonObject.of("count", 0))
                .encode());
    String run = trained(job.toString(), data.toString()).toString();

    List<JsonObject> found =
        predictions("predict", run, "3,01", "-3,01", "3,5\t", "-,35e1\t2D", "--json", "--", "-3,2");

    assertEquals(
        List.of("3,01", "-3,01", "3,5\t", "-,35e1\t2D", "-3,2"),
        found.stream().map(each -> each.getString("sample")).toList());
    assertEquals(
        List.of("3D", "2D", "3D", "2D", "2D"),
        found.stream().map(each -> each.getString("name")).toList());
    assertRefused(
        CommandRun.of("predict", run, "3.01"),
        "3.01: there is no such file, and it is no row of values: \"3.01\": column 1 is \"3.01\","
            + " expected a number; if '.' is its decimal mark, set option decimal to \".\"");
    assertRefused(
        CommandRun.of("predict", run, "7d"), "7d: there is no such file, and it is no row");
    assertRefused(
        CommandRun.of("predict", run, "3,01", "--jsn"),
        "Unknown option: '--jsn', did you mean --json");
    assertRefused(CommandRun.of("predict", "--jsn", run, "3,01"), "Unknown option: '--jsn'");
    assertRefused(
        CommandRun.of("predict", run, "3,01", "--temperature", "1d"), "'1d' is not a number");
  }

  @Test
  void shouldContinueATextWhenTheModelWasTrainedOnOne() throws IOException {
    Path text = Files.writeString(folder.resolve("abc.txt"), "a b c d e f g h ".repeat(400));
    Path prompt =
        Files.writeString(folder.resolve("prompt.txt"), "a b c d e f g h a b c d e f g h a b c");
    Path words = Files.write(folder.resolve("words.txt"), List.of("a b c d e f g h".split(" ")));
    Path job =
        Files.writeString(
            folder.resolve("job.json"),
            new JsonObject()
                .put("job", "letters")
                .put("steps", 150)
                .put(
                    "data",
                    new JsonObject()
                        .put("name", "text")
                        .put("vocabulary", words.toString())
                        .put("length", 12))
                .put("model", new JsonObject().put("name", "mlp").put("hidden", 32))
                .put("optimizer", new JsonObject().put("name", "adam").put("learningRate", 0.01))
                .put("evaluator", new JsonObject().put("every", 150))
                .encode());
    Path run = trained(job.toString(), text.toString());

    CommandRun next = CommandRun.of("predict", run.toString(), prompt.toString(), "--top", "1");
    CommandRun greedy =
        CommandRun.of(
            "predict", run.toString(), prompt.toString(), "--continue", "10", "--temperature", "0");
    String first = drawn(run, prompt, 1);

    CommandRun top =
        CommandRun.of(
            "predict",
            run.toString(),
            prompt.toString(),
            "--continue",
            "10",
            "--temperature",
            "50",
            "--top-k",
            "1");
    assertEquals(greedy.out(), top.out(), top.err());
    assertRefused(
        CommandRun.of("predict", run.toString(), prompt.toString(), "--top-k", "0"),
        "--top-k 0: expected at least 1");
    assertTrue(next.out().startsWith(prompt + ": \"d\" "), next.out() + next.err());
    assertEquals("d e f g h a b c d e", greedy.out().strip(), greedy.err());
    assertEquals(20, first.split(" ").length);
    assertEquals(first, drawn(run, prompt, 1));
    assertNotEquals(first, drawn(run, prompt, 2), "at a high temperature every seed differs");
    assertRefused(
        CommandRun.of(
            "predict",
            run.toString(),
            Files.writeString(folder.resolve("short.txt"), "a b c").toString()),
        "short.txt: has 3 tokens, expected at least the 12 that the model takes (data.length)");
    Path tensors = folder.resolve("letters.safetensors");
    CommandRun exported =
        CommandRun.of(
            "export", run.toString(), "--to", "safetensors", "--output", tensors.toString());
    assertEquals(0, exported.exit(), exported.err());
    Files.write(words, List.of("a b c d e f g".split(" ")));
    Path known = Files.writeString(folder.resolve("known.txt"), "a b c d e f g ".repeat(3));
    assertRefused(
        CommandRun.of("predict", tensors.toString(), known.toString(), "--top", "8"),
        "letters.safetensors: was trained on ids of 8 tokens, but the data set 'text' has 7 now;");
  }

  private static String drawn(Path run, Path prompt, int seed) {
    List<JsonObject> predictions =
        predictions(
            "predict",
            run.toString(),
            prompt.toString(),
            "--json",
            "--continue",
            "20",
            "--temperature",
            "50",
            "--seed",
            Integer.toString(seed));
    return predictions.get(0).getString("continuation");
  }

  private Path trained(String job, String data) {
    Path run = folder.resolve("run");
    CommandRun trained =
        CommandRun.of(
            "train", job, "--data", data, "--run-dir", run.toString(), "--no-dashboard", "--quiet");
    assertEquals(0, trained.exit(), trained.err());
    return run;
  }

  private static List<JsonObject> predictions(String... arguments) {
    CommandRun run = CommandRun.of(arguments);
    assertEquals(0, run.exit(), run.err());
    return run.out().lines().map(JsonObject::new).toList();
  }

  private static void assertRefused(CommandRun run, String message) {
    assertEquals(2, run.exit(), run.err());
    assertEquals(1, run.err().lines().count(), run.err());
    assertTrue(run.err().contains(message), run.err());
  }

  private static List<String> firstThree(List<String> lines) {
    return lines.stream()
        .map(line -> List.of(line.split(",")).subList(0, 3))
        .map(cells -> cells.stream().collect(Collectors.joining(",")))
        .toList();
  }
}
