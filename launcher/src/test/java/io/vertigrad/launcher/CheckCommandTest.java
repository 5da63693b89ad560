package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests {@code check} with a network of ours and what PyTorch computed with it ({@code
 * reference.py}).
 */
@Tag("slow")
class CheckCommandTest {

  private static final Path RESOURCES = Path.of("src/test/resources/io/vertigrad/launcher");
  private static final Path MODEL = RESOURCES.resolve("mlp.safetensors");
  private static final Path REFERENCE = RESOURCES.resolve("reference.safetensors");

  @TempDir private Path folder;
  private Map<String, Tensor> tensors;

  @BeforeEach
  void readReference() throws IOException {
    tensors = Tensor.read(REFERENCE);
  }

  @Test
  void shouldAgreeWithPyTorchWhenItsFileIsCompared() {
    CommandRun run = check(REFERENCE);

    assertEquals(0, run.exit(), run.out() + run.err());
    List<String> lines = run.out().lines().toList();
    assertTrue(
        lines
            .get(0)
            .endsWith(
                "6 samples of [5], 3 classes, crossEntropy; 5 steps of sgd at 0.1; engine dl4j"),
        run.out());
    assertEquals(
        List.of(
            "softmax of output",
            "loss",
            "after.fc1.W",
            "after.fc1.b",
            "after.fc2.W",
            "after.fc2.b"),
        lines.subList(1, 7).stream().map(line -> line.strip().split(" {2,}")[0]).toList());
    assertEquals(
        "  not compared: after.count: whole numbers, such as counters, are not trained",
        lines.get(7));
    assertTrue(lines.get(8).startsWith("it computes the same: largest difference "), run.out());
    assertEquals(9, lines.size(), run.out());
  }

  @Test
  void shouldCompareTheOutputAloneWhenTheFileHasNoLosses() throws IOException {
    tensors.keySet().removeIf(name -> name.startsWith("after.") || name.equals("loss"));

    CommandRun run = check(write(), "--json");

    JsonObject found = new JsonObject(run.out());
    assertEquals(0, run.exit(), run.err());
    assertTrue(found.getBoolean("same"));
    assertEquals(0, found.getInteger("steps"));
    assertEquals(List.of("softmax of output"), names(found.getJsonArray("compared")));
  }

  @Test
  void shouldNameTheTensorAndItsPlaceWhenOneValueDiffers() throws IOException {
    tensors.get("after.fc1.W").values()[7] += 0.5;

    CommandRun run = check(write());
    CommandRun json = check(write(), "--json");

    assertEquals(1, run.exit(), run.err());
    assertEquals("", run.err());
    assertTrue(
        run.out()
            .endsWith(
                "it does not compute the same: 1 of 6 tensors differ by more than the tolerance"
                    + " 1.0e-05; first after.fc1.W"
                    + System.lineSeparator()),
        run.out());
    assertTrue(run.out().contains("after.fc1.W        5.0e-01 at [1, 2]: "), run.out());
    assertEquals(1, json.exit(), json.err());
    JsonObject found = new JsonObject(json.out());
    assertFalse(found.getBoolean("same"));
    JsonObject different = of(found.getJsonArray("compared"), "after.fc1.W");
    assertEquals(0.5, different.getDouble("difference"), 1e-6);
    assertEquals(new JsonArray().add(1).add(2), different.getJsonArray("at"));
    assertEquals(0.5, different.getDouble("expected") - different.getDouble("found"), 1e-6);
  }

  @Test
  void shouldAcceptADifferenceWhenTheToleranceIsLarger() throws IOException {
    tensors.get("after.fc2.b").values()[0] += 0.01;

    assertEquals(1, check(write()).exit());
    assertEquals(0, check(write(), "--tolerance", "0.02").exit());
  }

  @Test
  void shouldDifferInTrainingOnlyWhenTheRateIsAnother() {
    CommandRun run = check(REFERENCE, "--rate", "0.2", "--json");

    assertEquals(1, run.exit(), run.err());
    JsonArray compared = new JsonObject(run.out()).getJsonArray("compared");
    assertTrue(of(compared, "softmax of output").getDouble("difference") < 1e-6);
    assertTrue(of(compared, "loss").getDouble("difference") > 1e-3);
  }

  @Test
  void shouldDifferWhenTheFileHasNoNumberWhereTheModelHasOne() throws IOException {
    tensors.get("loss").values()[2] = Double.NaN;

    CommandRun run = check(write(), "--json", "--tolerance", "1e30");

    assertEquals(1, run.exit(), run.err());
    JsonObject loss = of(new JsonObject(run.out()).getJsonArray("compared"), "loss");
    assertEquals(new JsonArray().add(2), loss.getJsonArray("at"));
    assertNull(loss.getDouble("difference"));
    assertNull(loss.getDouble("expected"));
  }

  @Test
  void shouldTakeProbabilitiesWhenTheOutputHasThem() throws IOException {
    double[] values = tensors.get("output").values();
    for (int first = 0; first < values.length; first += 3) {
      double sum = 0;
      for (int k = first; k < first + 3; k++) {
        values[k] = Math.exp(values[k]);
        sum += values[k];
      }
      for (int k = first; k < first + 3; k++) {
        values[k] /= sum;
      }
    }

    CommandRun run = check(write(), "--json");

    assertEquals(0, run.exit(), run.out() + run.err());
    assertTrue(
        names(new JsonObject(run.out()).getJsonArray("compared")).contains("output"), run.out());
  }

  @Test
  void shouldListWhatItDoesNotCompareWhenNamesDiffer() throws IOException {
    tensors.put("after.other", tensors.remove("after.fc2.b"));
    tensors.put("after.tied", tensors.get("after.fc1.b"));

    CommandRun run = check(write(), "--json");

    assertEquals(0, run.exit(), run.out() + run.err());
    Map<String, String> reasons = new LinkedHashMap<>();
    new JsonObject(run.out())
        .getJsonArray("notCompared")
        .forEach(
            one ->
                reasons.put(
                    ((JsonObject) one).getString("tensor"),
                    ((JsonObject) one).getString("reason")));
    assertEquals(
        Map.of(
            "after.count",
            "whole numbers, such as counters, are not trained",
            "after.other",
            "the model trains no array of this name",
            "after.tied",
            "another name of after.fc1.b, which has the same values",
            "fc2.b",
            "the file has nothing of this array of the model"),
        reasons);
  }

  @Test
  void shouldCompareValuesWhenTargetsAreNumbers() throws IOException {
    double[] target = {1, 0, 0.5, 0, 0, 1, -1, 2, 0, 1, 1, 0, 0, 0, 0, 3, 0, 1};
    double loss = 0;
    double[] output = tensors.get("output").values();
    for (int i = 0; i < output.length; i++) {
      loss += (output[i] - target[i]) * (output[i] - target[i]) / output.length;
    }
    tensors.keySet().removeIf(name -> name.startsWith("after."));
    tensors.put("y", Tensor.of(false, List.of(6, 3), target));
    tensors.put("loss", Tensor.of(false, List.of(), loss));

    CommandRun run = check(write(), "--json");

    assertEquals(0, run.exit(), run.out() + run.err());
    JsonObject found = new JsonObject(run.out());
    assertEquals("meanSquaredError", found.getString("loss"));
    assertEquals(1, found.getInteger("steps"));
    assertEquals(List.of("output", "loss"), names(found.getJsonArray("compared")));
  }

  @Test
  void shouldTakeWholeLabelsWhenTheLossIsOfLabels() throws IOException {
    double[] labels = IntStream.range(0, 18).mapToDouble(i -> i % 2).toArray();
    double[] output = tensors.get("output").values();
    double loss = 0;
    for (int i = 0; i < output.length; i++) {
      loss += (Math.log1p(Math.exp(output[i])) - labels[i] * output[i]) / output.length;
    }
    tensors.keySet().removeIf(name -> name.startsWith("after."));
    tensors.put("y", Tensor.of(true, List.of(6, 3), labels));
    tensors.put("loss", Tensor.of(false, List.of(1), loss));

    CommandRun run = check(write(), "--loss", "binaryCrossEntropy", "--json");

    assertEquals(0, run.exit(), run.out() + run.err());
    assertEquals(
        List.of("sigmoid of output", "loss"),
        names(new JsonObject(run.out()).getJsonArray("compared")));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "y | holds no tensor y, expected x, y and output (docs/guide/pytorch.md)",
        "output | holds no tensor output, expected x, y and output",
        "loss | holds after.... but no loss, expected one loss for each step"
      })
  void shouldNameTheTensorWhenItIsMissing(String name, String message) throws IOException {
    tensors.remove(name);

    assertRefused(check(write()), message);
  }

  @Test
  void shouldRefuseTensorsWhenTheyDoNotFitEachOther() throws IOException {
    tensors.put("y", Tensor.of(true, List.of(5), 0, 1, 2, 0, 1));
    assertRefused(check(write()), "have the shapes [6, 5], [5] and [6, 3], expected the same");

    tensors.put("y", Tensor.of(true, List.of(6), 0, 1, 2, 3, 0, 0));
    assertRefused(check(write()), "y[3] is 3, expected a class from 0 to 2");

    tensors.put("y", Tensor.of(true, List.of(6), 0, 1, 2, 1, 0, -100));
    assertRefused(check(write()), "y[5] is -100, expected a class from 0 to 2");

    tensors.put("y", Tensor.of(false, List.of(6), 0, 1, 2, 1, 0, 0));
    assertRefused(check(write()), "y has the shape [6] and output [6, 3]; for meanSquaredError");

    tensors.put("y", Tensor.of(true, List.of(6, 1), 0, 1, 2, 1, 0, 0));
    assertRefused(check(write()), "expected whole numbers of the shape of output without its last");

    tensors.put("y", Tensor.of(false, List.of(6, 3), new double[17 + 1]));
    tensors.get("y").values()[4] = 0.5;
    assertRefused(
        check(write(), "--loss", "binaryCrossEntropy"), "y[1, 1] is 0.5, expected a label of 0 or");

    tensors = Tensor.read(REFERENCE);
    tensors.put("after.fc1.b", Tensor.of(false, List.of(2), 0, 0));
    assertRefused(check(write()), "after.fc1.b has the shape [2], expected [4] as in the model");
  }

  @Test
  void shouldRefuseOptionsWhenTheyAreOutOfRange() {
    assertRefused(check(REFERENCE, "--rate", "0"), "--rate 0.0: expected more than 0");
    assertRefused(check(REFERENCE, "--tolerance=-1"), "--tolerance -1.0: expected 0 or more");
    assertRefused(check(REFERENCE, "--loss", "l1"), "--loss l1: expected one of crossEntropy");
    assertRefused(check(folder.resolve("none")), "expected a safetensors file");
    assertRefused(check(MODEL), "holds no tensor x");
    assertRefused(
        CommandRun.of("check", MODEL.toString()), "Missing required option: '--with=FILE'");
  }

  private static CommandRun check(Path reference, String... options) {
    String[] all = Arrays.copyOf(new String[] {"check", MODEL.toString()}, 4 + options.length);
    all[2] = "--with";
    all[3] = reference.toString();
    System.arraycopy(options, 0, all, 4, options.length);
    return CommandRun.of(all);
  }

  private static void assertRefused(CommandRun run, String message) {
    assertEquals(2, run.exit(), run.out() + run.err());
    assertEquals(1, run.err().lines().count(), run.err());
    assertTrue(run.err().contains(message), run.err());
  }

  private static List<String> names(JsonArray tensors) {
    return tensors.stream().map(one -> ((JsonObject) one).getString("tensor")).toList();
  }

  private static JsonObject of(JsonArray tensors, String name) {
    return tensors.stream()
        .map(JsonObject.class::cast)
        .filter(one -> one.getString("tensor").equals(name))
        .findFirst()
        .orElseThrow();
  }

  private Path write() throws IOException {
    return Tensor.write(folder.resolve("written.safetensors"), tensors);
  }
}
