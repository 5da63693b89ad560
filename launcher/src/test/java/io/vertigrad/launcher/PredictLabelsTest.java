package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests {@code train}, {@code evaluate} and {@code predict} for labels and values of images. */
@Tag("slow")
class PredictLabelsTest {

  private static final int SIDE = 6;

  @TempDir private Path folder;

  @Test
  void shouldPredictTheProbabilityOfEachLabelOfAnImage() throws IOException {
    Path run = trained("binaryCrossEntropy", false);
    Path left = image("left.png", 1);
    Path both = image("both.png", 3);

    CommandRun said = CommandRun.of("predict", run.toString(), left.toString(), both.toString());
    CommandRun json = CommandRun.of("predict", run.toString(), left.toString(), "--json");

    assertEquals(0, said.exit(), said.err());
    JsonObject found = new JsonObject(json.out());
    JsonArray probabilities = found.getJsonArray("probabilities");
    assertEquals(left.toString(), found.getString("image"));
    assertEquals(2, probabilities.size());
    assertTrue(probabilities.getDouble(0) > 0.8, json.out());
    assertTrue(probabilities.getDouble(1) < 0.2, json.out());
    List<String> lines = said.out().lines().toList();
    assertEquals(2, lines.size(), said.out());
    assertEquals(
        String.format(
            Locale.ROOT,
            "%s: label 0 %.2f %%, label 1 %.2f %%",
            left,
            100 * probabilities.getDouble(0),
            100 * probabilities.getDouble(1)),
        lines.get(0));
    CommandRun tested = CommandRun.of("evaluate", run.toString());
    JsonObject summary = summary(run);
    assertEquals(
        String.format(
            Locale.ROOT,
            "label accuracy %.2f %% on the whole test set of %s (32 samples), loss %.4f;"
                + " parameters %s",
            summary.getDouble("labelAccuracy"),
            Halves.class.getName(),
            summary.getDouble("loss"),
            summary.getString("parametersHash")),
        tested.out().strip());
  }

  @Test
  void shouldPredictEachValueOfAnImage() throws IOException {
    Path run = trained("meanSquaredError", true);
    Path top = image("top.png", 2);

    CommandRun said = CommandRun.of("predict", run.toString(), top.toString());
    CommandRun json = CommandRun.of("predict", run.toString(), top.toString(), "--json");

    assertEquals(0, said.exit(), said.err());
    JsonArray values = new JsonObject(json.out()).getJsonArray("values");
    assertEquals(2, values.size());
    assertEquals(0, values.getDouble(0), 0.4);
    assertEquals(Halves.BRIGHT, values.getDouble(1), 0.4);
    assertEquals(
        String.format(
            Locale.ROOT,
            "%s: value 0 %.6g, value 1 %.6g",
            top,
            values.getFloat(0),
            values.getFloat(1)),
        said.out().strip());
    CommandRun tested = CommandRun.of("evaluate", run.toString(), "--json");
    assertEquals(summary(run).getDouble("rmse"), new JsonObject(tested.out()).getDouble("rmse"));
  }

  private Path trained(String loss, boolean values) throws IOException {
    JsonObject job =
        new JsonObject()
            .put("job", "halves")
            .put("epochs", 40)
            .put("data", JsonObject.of("name", Halves.class.getName(), "values", values))
            .put("model", JsonObject.of("name", "mlp", "hidden", 16, "loss", loss))
            .put("optimizer", JsonObject.of("name", "adam", "learningRate", 0.01))
            .put("workers", JsonObject.of("count", 1, "batch", 16))
            .put("evaluator", JsonObject.of("count", 0));
    Path file = Files.writeString(folder.resolve("job.json"), job.encode());
    Path run = folder.resolve("run");
    CommandRun trained =
        CommandRun.of(
            "train", file.toString(), "--run-dir", run.toString(), "--no-dashboard", "--quiet");
    assertEquals(0, trained.exit(), trained.err());
    return run;
  }

  /**
   * Writes an image whose left half is bright with bit 0 and whose upper half is bright with bit 1.
   */
  private Path image(String name, int halves) throws IOException {
    BufferedImage image = new BufferedImage(SIDE, SIDE, BufferedImage.TYPE_BYTE_GRAY);
    for (int i = 0; i < SIDE * SIDE; i++) {
      int value = Halves.value(halves, i);
      image.getRaster().setSample(i % SIDE, i / SIDE, 0, value);
    }
    Path file = folder.resolve(name);
    ImageIO.write(image, "png", file.toFile());
    return file;
  }

  private static JsonObject summary(Path run) throws IOException {
    return new JsonObject(Files.readString(run.resolve("summary.json")));
  }

  /** Provides images with labels or values, which no built-in data set has. */
  public static final class Halves implements DatasetProvider {

    private static final float BRIGHT = 2;
    private static final int SAMPLES = 32;

    static int value(int halves, int place) {
      boolean left = (halves & 1) > 0 && place % SIDE < SIDE / 2;
      boolean top = (halves & 2) > 0 && place / SIDE < SIDE / 2;
      return (left ? 120 : 0) + (top ? 120 : 0) + place % 5;
    }

    @Override
    public String name() {
      return "halves";
    }

    @Override
    public Dataset open(DataConfig config, Split split) {
      Settings options = config.settings();
      boolean values = options.flag("values", false);
      options.refuseUnknown();
      return new Images(values ? Targets.values(2) : Targets.labels(2));
    }
  }

  /** Repeats the same four images. */
  private record Images(Targets targets) implements Dataset {

    @Override
    public int size() {
      return Halves.SAMPLES;
    }

    @Override
    public List<Integer> shape() {
      return List.of(1, SIDE, SIDE);
    }

    @Override
    public int classes() {
      return 2;
    }

    @Override
    public Optional<List<Normalisation>> normalisation() {
      return Optional.of(List.of(Normalisation.UNIT));
    }

    @Override
    public void read(int index, float[] features, int offset) {
      float[] table = Normalisation.UNIT.table();
      for (int i = 0; i < SIDE * SIDE; i++) {
        features[offset + i] = table[Halves.value(index % 4, i)];
      }
    }

    @Override
    public void readTargets(int index, float[] into, int offset) {
      float one = targets.kind() == Targets.Kind.LABELS ? 1 : Halves.BRIGHT;
      into[offset] = (index & 1) * one;
      into[offset + 1] = (index >> 1 & 1) * one;
    }
  }
}
