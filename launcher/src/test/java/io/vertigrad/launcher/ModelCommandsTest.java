package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.launcher.tracking.EventFileParser;
import io.vertigrad.training.SavedModel;
import io.vertx.core.json.JsonObject;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests {@code evaluate}, {@code predict}, {@code export}, and training that starts from a model.
 */
@Tag("slow")
class ModelCommandsTest {

  private static final int SIDE = 28;

  @TempDir private static Path runs;
  @TempDir private Path folder;

  private static Path run;
  private static JsonObject summary;

  @BeforeAll
  static void trainOnce() throws IOException {
    run = runs.resolve("first");
    CommandRun trained = train(run, "--steps", "60", "--set", "tracking.tensorboard=true");
    assertEquals(0, trained.exit(), trained.err());
    summary = new JsonObject(Files.readString(run.resolve("summary.json")));
  }

  @Test
  void shouldMatchTheLastTestOfTheRunWhenItIsEvaluated() {
    CommandRun folderOfRun = CommandRun.of("evaluate", run.toString(), "--json");
    CommandRun zip = CommandRun.of("evaluate", run.resolve("model.zip").toString());

    assertEquals(0, folderOfRun.exit(), folderOfRun.err());
    JsonObject found = new JsonObject(folderOfRun.out());
    for (String key : List.of("accuracy", "loss", "testSamples", "parametersHash")) {
      assertEquals(summary.getValue(key), found.getValue(key), key);
    }
    assertEquals(0, zip.exit(), zip.err());
    assertEquals(
        String.format(
            "accuracy %.2f %% on the whole test set of digits (500 samples), loss %.4f;"
                + " parameters %s%n",
            summary.getDouble("accuracy"),
            summary.getDouble("loss"),
            summary.getString("parametersHash")),
        zip.out());
  }

  @Test
  void shouldNameItsOptionWhenThePortOfServeIsTaken() throws IOException {
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = String.valueOf(other.getLocalPort());

      CommandRun serve = CommandRun.of("serve", run.toString(), "--port", port);

      assertEquals(2, serve.exit(), serve.err());
      assertTrue(
          serve.err().contains("--port " + port + " is taken, expected a free one"), serve.err());
    }
  }

  @Test
  void shouldSayWhatIsWrongWhenServeCannotBegin() throws IOException {
    Path damaged = Files.writeString(folder.resolve("damaged.zip"), "no model");
    Path tokens = Files.writeString(folder.resolve("tokens"), "short");
    String model = run.toString();

    assertRefused("there is no such model, expected the folder of a run", "nothing");
    assertRefused("names one model, but there are 2", model, "b=" + model, "--name", "a");
    assertRefused("is given twice", model, model);
    assertRefused("=x: expected NAME=MODEL, or MODEL", "=x");
    assertRefused("damaged.zip", damaged.toString());
    assertRefused("expected a file of at most 1 MiB", model, "--token-file", "nothing");
    assertRefused("line 1 has a token of 5 characters", model, "--token-file", tokens.toString());
  }

  private static void assertRefused(String message, String... arguments) {
    List<String> line = new ArrayList<>(List.of("serve", "--port", "0"));
    line.addAll(List.of(arguments));

    CommandRun serve = CommandRun.of(line.toArray(String[]::new));

    assertEquals(2, serve.exit(), serve.err());
    assertTrue(serve.err().contains(message), serve.err());
  }

  @Test
  void shouldLeaveItsCurvesToTensorBoardWhenTheJobAsksForThem() throws IOException {
    Path file;
    try (Stream<Path> files = Files.list(run)) {
      file =
          files
              .filter(found -> found.getFileName().toString().startsWith("events.out.tfevents."))
              .findFirst()
              .orElseThrow();
    }
    List<EventFileParser.Event> events = EventFileParser.parse(file);

    Map<String, Float> last = new HashMap<>();
    events.forEach(event -> last.putAll(event.values()));
    assertEquals("brain.Event:2", events.get(0).version());
    assertEquals(60, events.get(events.size() - 1).step());
    assertEquals(summary.getFloat("accuracy"), last.get("test/accuracy"));
    assertEquals(summary.getFloat("loss"), last.get("test/loss"));
    assertTrue(
        last.keySet()
            .containsAll(
                List.of(
                    "train/loss",
                    "train/learning_rate",
                    "train/samples_per_second",
                    "workers/0/loss",
                    "workers/1/loss")),
        last.toString());
  }

  @Test
  void shouldMatchTheFiguresInEveryFormatWhenTheModelIsExported() throws IOException {
    Path tensors = folder.resolve("copied.safetensors");
    Path zip = folder.resolve("copied.zip");

    CommandRun first = export("safetensors", tensors);
    CommandRun second = export("dl4j", zip);

    assertEquals(0, first.exit(), first.err());
    assertEquals(0, second.exit(), second.err());
    assertTrue(first.out().contains(summary.getString("parametersHash")), first.out());
    JsonObject found = new JsonObject(evaluated(tensors.toString(), "--json").out());
    assertEquals(summary.getDouble("loss"), found.getDouble("loss"));
    assertEquals(summary.getString("parametersHash"), found.getString("parametersHash"));
    JsonObject again =
        new JsonObject(
            evaluated(zip.toString(), "--json", "--job", run.resolve("job.json").toString()).out());
    assertEquals(found, again);
  }

  @Test
  void shouldStartWithTheParametersOfTheRunThatIsTheModel() throws IOException {
    CommandRun further = train(folder.resolve("a"), "--steps", "5", "--set", "model.name=" + run);

    assertBeginsTrained(further, folder.resolve("a"));
  }

  @ParameterizedTest
  @CsvSource({"digits-sync", "digits-ring", "digits-pipeline"})
  void shouldStartWithTheParametersOfTheFileThatTheJobNames(String job) throws IOException {
    Path tensors = folder.resolve("start.safetensors");
    assertEquals(0, export("safetensors", tensors).exit());

    CommandRun further =
        CommandRun.of(
            "train",
            "conf/" + job + ".json",
            "--run-dir",
            folder.resolve(job).toString(),
            "--no-dashboard",
            "--steps",
            "1",
            "--set",
            "optimizer.learningRate=1e-9",
            "--set",
            "data.test=500",
            "--set",
            "model.parameters=" + tensors);

    assertBeginsTrained(further, folder.resolve(job));
  }

  @Test
  void shouldStartEveryProcessWithTheParametersOfTheRunThatIsTheModel() throws IOException {
    CommandRun further =
        train(
            folder.resolve("a"),
            "--steps",
            "1",
            "--processes",
            "--set",
            "optimizer.learningRate=1e-9",
            "--set",
            "model.name=" + run);

    assertBeginsTrained(further, folder.resolve("a"));
  }

  @Test
  void shouldRefuseToStartWithAnotherModel() throws IOException {
    Path tensors = folder.resolve("start.safetensors");
    assertEquals(0, export("safetensors", tensors).exit());
    Path empty = Files.createDirectories(folder.resolve("runs/empty"));

    assertRefused(
        train(
            folder.resolve("a"), "--set", "model.name=mlp", "--set", "model.parameters=" + tensors),
        "model.parameters: " + tensors + ": holds no tensor fc1.W, expected one of shape");
    assertRefused(
        train(folder.resolve("b"), "--set", "model.parameters=" + folder + "/none.safetensors"),
        "cannot be read: java.nio.file.NoSuchFileException");
    assertRefused(
        train(folder.resolve("c"), "--set", "model.name=" + run, "--set", "data.name=shapes"),
        "does not take samples of shape [3, 32, 32]");
    assertRefused(
        train(folder.resolve("d"), "--set", "model.name=" + empty),
        "a folder without job.json; expected the folder of a run that has ended");
    assertFalse(Files.exists(folder.resolve("a")), "nothing was begun");
    assertFalse(Files.exists(folder.resolve("c")), "nothing was begun");
  }

  @Test
  void shouldGiveEachImageItsClassWhenDigitsAreAsked() throws IOException {
    Dataset test = digits();
    byte[] pixels = new byte[40 * SIDE * SIDE];
    int right = 0;
    for (int i = 0; i < 40; i++) {
      System.arraycopy(bytes(test, i), 0, pixels, i * SIDE * SIDE, SIDE * SIDE);
    }
    Path idx = folder.resolve("images-idx3-ubyte");
    Files.write(
        idx,
        ByteBuffer.allocate(16 + pixels.length)
            .putInt(0x803)
            .putInt(40)
            .putInt(SIDE)
            .putInt(SIDE)
            .put(pixels)
            .array());
    Path png = folder.resolve("digit.png");
    ImageIO.write(image(bytes(test, 7), 1), "png", png.toFile());
    Path large = folder.resolve("large.png");
    ImageIO.write(image(bytes(test, 7), 4), "png", large.toFile());

    CommandRun all = CommandRun.of("predict", run.toString(), idx.toString(), "--json");
    CommandRun one = CommandRun.of("predict", run.toString(), png.toString(), large.toString());

    assertEquals(0, all.exit(), all.err());
    List<JsonObject> lines = all.out().lines().map(JsonObject::new).toList();
    assertEquals(40, lines.size());
    for (int i = 0; i < 40; i++) {
      right += lines.get(i).getInteger("class") == test.label(i) ? 1 : 0;
      assertEquals(idx + "[" + i + "]", lines.get(i).getString("image"));
    }
    assertTrue(right > 25, right + " of 40");
    JsonObject seventh = lines.get(7);
    String begin =
        String.format(
            "%s: class %d %.2f %%",
            png, seventh.getInteger("class"), 100 * seventh.getDouble("probability"));
    assertEquals(0, one.exit(), one.err());
    assertTrue(one.out().startsWith(begin), one.out() + begin);
    String said = one.out().lines().findFirst().orElseThrow();
    assertEquals(said.replace(png.toString(), large.toString()), one.out().lines().toList().get(1));
  }

  @Test
  void shouldCompareARunWithItsOwnAnswersWhenItIsChecked() throws IOException {
    int samples = 3;
    float[] pixels = new float[samples * SIDE * SIDE];
    double[] features = new double[pixels.length];
    for (int i = 0; i < pixels.length; i++) {
      pixels[i] = i % 7 / 7f;
      features[i] = pixels[i];
    }
    double[] answers;
    try (SavedModel saved = SavedModel.open(run.resolve("model.zip"))) {
      float[] found = saved.probabilities(pixels, samples);
      answers = IntStream.range(0, found.length).mapToDouble(i -> found[i]).toArray();
    }
    double loss = -(Math.log(answers[3]) + Math.log(answers[11]) + Math.log(answers[20])) / samples;
    Path reference =
        Tensor.write(
            folder.resolve("reference.safetensors"),
            Map.of(
                "x", Tensor.of(false, List.of(samples, 1, SIDE, SIDE), features),
                "y", Tensor.of(true, List.of(samples), 3, 1, 0),
                "output", Tensor.of(false, List.of(samples, 10), answers),
                "loss", Tensor.of(false, List.of(1), loss)));

    CommandRun checked =
        CommandRun.of("check", run.toString(), "--with", reference.toString(), "--json");

    assertEquals(0, checked.exit(), checked.out() + checked.err());
    JsonObject found = new JsonObject(checked.out());
    assertEquals("dl4j", found.getString("engine"));
    assertEquals(2, found.getJsonArray("compared").size(), checked.out());
  }

  @Test
  void shouldReportBadInputInOneLine() throws IOException {
    Path broken = Files.writeString(folder.resolve("broken.png"), "no picture");
    Path torn = folder.resolve("torn.safetensors");
    byte[] zip = Files.readAllBytes(run.resolve("model.zip"));
    Path half = Files.write(folder.resolve("half.zip"), Arrays.copyOf(zip, 500));
    assertEquals(0, export("safetensors", torn).exit());
    byte[] tensors = Files.readAllBytes(torn);
    Files.write(torn, Arrays.copyOf(tensors, tensors.length - 40));
    String model = run.toString();

    assertRefused(CommandRun.of("evaluate", folder + "/none"), "there is no such model");
    assertRefused(CommandRun.of("evaluate", folder.toString()), "expected the folder of a run");
    assertRefused(CommandRun.of("evaluate", half.toString()), "not a DL4J model");
    assertRefused(CommandRun.of("evaluate", torn.toString()), "expected whole numbers from 0 to");
    assertRefused(
        CommandRun.of("evaluate", model, "--set", "data.name=shapes"),
        "takes samples of shape [1, 28, 28] in 10 classes, but the data set 'shapes' has");
    assertRefused(CommandRun.of("predict", model, folder + "/none.png"), "there is no such file");
    assertRefused(
        CommandRun.of("predict", model, broken.toString()), "broken.png: is no image, expected");
    Path digit = folder.resolve("digit.png");
    ImageIO.write(
        new BufferedImage(SIDE, SIDE, BufferedImage.TYPE_BYTE_GRAY), "png", digit.toFile());
    Path whole = folder.resolve("whole.safetensors");
    assertEquals(0, export("safetensors", whole).exit());
    assertRefused(
        CommandRun.of("predict", whole.toString(), digit.toString(), "--set", "data.fit=krop"),
        "data.fit is \"krop\", expected one of stretch, crop");
    assertRefused(
        CommandRun.of("export", model, "--to", "keras"),
        "--to keras: is no format, expected one of dl4j, onnx, pt, pt2, safetensors");
    assertRefused(
        CommandRun.of("export", model, "--to", "pt"),
        "format pt: the engine dl4j does not write it, expected one of dl4j, onnx, safetensors");
    assertRefused(
        CommandRun.of("export", model, "--to", "dl4j", "--output", half.toString()),
        "is there already; name another file with --output FILE");
    assertFalse(Files.exists(run.resolve("exported.pt")));
    assertFalse(Files.exists(run.resolve("exported.pt.part")));
  }

  private static void assertBeginsTrained(CommandRun further, Path run) throws IOException {
    assertEquals(0, further.exit(), further.err());
    JsonObject after = new JsonObject(Files.readString(run.resolve("summary.json")));
    assertEquals(summary.getDouble("accuracy"), after.getDouble("accuracy"), 8, after.encode());
    assertTrue(after.getDouble("accuracy") > 50, after.encode());
  }

  private static void assertRefused(CommandRun run, String message) {
    assertEquals(2, run.exit(), run.err());
    assertEquals(1, run.err().lines().count(), run.err());
    assertTrue(run.err().startsWith("vertigrad: "), run.err());
    assertTrue(run.err().contains(message), run.err());
  }

  private static CommandRun evaluated(String... arguments) {
    String[] all = new String[arguments.length + 1];
    all[0] = "evaluate";
    System.arraycopy(arguments, 0, all, 1, arguments.length);
    CommandRun evaluated = CommandRun.of(all);
    assertEquals(0, evaluated.exit(), evaluated.err());
    return evaluated;
  }

  private static CommandRun export(String format, Path target) {
    return CommandRun.of("export", run.toString(), "--to", format, "--output", target.toString());
  }

  private static CommandRun train(Path into, String... options) {
    String[] all = new String[options.length + 8];
    String[] begin = {
      "train",
      "conf/digits-sync.json",
      "--run-dir",
      into.toString(),
      "--no-dashboard",
      "--quiet",
      "--set",
      "data.test=500"
    };
    System.arraycopy(begin, 0, all, 0, begin.length);
    System.arraycopy(options, 0, all, begin.length, options.length);
    return CommandRun.of(all);
  }

  /** Returns the test set of the run, as bytes. */
  private static Dataset digits() {
    return DatasetProvider.open(
        new DataConfig(
            "digits",
            Optional.empty(),
            Optional.empty(),
            Map.of("test", 500, "normalization", "raw")),
        Split.TEST,
        ModelCommandsTest.class.getClassLoader());
  }

  private static byte[] bytes(Dataset raw, int index) {
    float[] values = new float[SIDE * SIDE];
    raw.read(index, values, 0);
    byte[] bytes = new byte[values.length];
    for (int i = 0; i < values.length; i++) {
      bytes[i] = (byte) values[i];
    }
    return bytes;
  }

  private static BufferedImage image(byte[] pixels, int scale) {
    BufferedImage image =
        new BufferedImage(SIDE * scale, SIDE * scale, BufferedImage.TYPE_BYTE_GRAY);
    for (int y = 0; y < SIDE * scale; y++) {
      for (int x = 0; x < SIDE * scale; x++) {
        int value = pixels[y / scale * SIDE + x / scale] & 0xFF;
        image.getRaster().setSample(x, y, 0, value);
      }
    }
    return image;
  }
}
