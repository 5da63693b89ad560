package io.vertigrad.launcher;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.data.TargetColumn;
import io.vertigrad.compute.data.TokenSampler;
import io.vertigrad.compute.data.TokenSampler.Sampling;
import io.vertigrad.compute.data.files.ImageFile;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.launcher.terminal.ModelText;
import io.vertigrad.training.SavedModel;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.ObjIntConsumer;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * Implements {@code vertigrad predict}, which prints predictions for images, CSV rows or a text.
 */
@Command(
    name = "predict",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Prints what a trained model tells of images, of lines of values, or after a text.",
      "%nImages are PNG, JPEG, GIF, BMP, or all those of an IDX file. They are scaled to the model's"
          + " input and normalised as in training.",
      "A model trained on csv is asked about CSV files, with or without the columns that it tells;"
          + " one trained on text tells which token follows a text, or continues it.",
      "Without a file it is asked about the first samples of its test set."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class PredictCommand implements Callable<Integer> {

  private static final int BATCH = 128;

  /** The beginning of a row whose first value is negative. */
  private static final Pattern NEGATIVE = Pattern.compile("(?s)-[0-9.,].*");

  /** Number of test samples to predict when no file is named. */
  private static final int SHOWN = 5;

  @Spec private CommandSpec spec;

  @Mixin private ModelOptions model;

  @Parameters(
      index = "1..*",
      arity = "0..*",
      paramLabel = "FILE",
      description =
          "Images, CSV files or texts; of a model trained on csv also a row of values, such as"
              + " \"3.1,red,7\", where there is no file of that name. None for the first samples"
              + " of the test set.")
  private List<String> files = List.of();

  @Option(
      names = "--top",
      paramLabel = "K",
      defaultValue = "3",
      description = "How many of the most probable classes are printed (${DEFAULT-VALUE}).")
  private int top;

  @Option(
      names = "--invert",
      description = "Takes the images' negatives, such as black digits on white.")
  private boolean invert;

  @Option(
      names = "--continue",
      paramLabel = "N",
      description = "Prints so many tokens that follow a text, each drawn by its probability.")
  private Integer length;

  @Option(
      names = "--temperature",
      paramLabel = "T",
      defaultValue = "1",
      description =
          "With --continue: below 1 draws probable tokens more often, 0 always takes the most"
              + " probable one (${DEFAULT-VALUE}).")
  private double temperature;

  @Option(
      names = "--top-k",
      paramLabel = "K",
      description =
          "With --continue: draws each token among the K most probable ones (by default among all).")
  private Integer topK;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "With --continue: another seed, another text (${DEFAULT-VALUE}).")
  private long seed;

  @Option(names = "--json", description = "Prints one JSON object for each sample instead.")
  private boolean json;

  @Override
  public Integer call() {
    RunLog.leaveConsole();
    System.setProperty("java.awt.headless", "true");
    if (top < 1) {
      throw new InputException("--top %s: expected at least 1".formatted(top));
    }
    if (length != null && length < 1) {
      throw new InputException("--continue %s: expected at least 1".formatted(length));
    }
    if (topK != null && topK < 1) {
      throw new InputException("--top-k %s: expected at least 1".formatted(topK));
    }
    if (!(temperature >= 0) || temperature == Double.POSITIVE_INFINITY) {
      throw new InputException("--temperature %s: expected 0 or more".formatted(temperature));
    }
    refuseUnknownOptions();
    ModelOptions.Chosen chosen = model.chosen();
    try (SavedModel saved = chosen.open()) {
      refuseForOthers(saved, chosen);
      if (files.isEmpty()) {
        ofTestSet(saved);
      }
      Map<String, Dataset> rows = rows(saved);
      for (String name : files) {
        if (rows.containsKey(name)) {
          Dataset row = rows.get(name);
          inBatches(saved, 1, row::read, (outputs, index) -> print(saved, "sample", name, outputs));
        } else if (saved.normalisation().isPresent()) {
          ofImages(saved, Path.of(name), treatment(chosen), saved.normalisation().get());
        } else if (saved.takesTokens()) {
          ofText(saved, Path.of(name));
        } else {
          ofSamples(saved, Path.of(name), saved.unlabelled(Path.of(name)));
        }
      }
    }
    return ExitStatus.OK;
  }

  private static boolean isFile(String name) {
    try {
      return Files.isRegularFile(Path.of(name));
    } catch (InvalidPathException e) {
      return false;
    }
  }

  /**
   * Refuses options that are not known. They are read as files and rows, because a row may begin
   * with a minus sign.
   */
  private void refuseUnknownOptions() {
    List<String> typed = spec.root().commandLine().getParseResult().originalArgs();
    int end = typed.indexOf("--");
    spec.commandLine().getParseResult().matchedPositionals().stream()
        .flatMap(positional -> positional.originalStringValues().stream())
        .filter(name -> name.startsWith("-") && !NEGATIVE.matcher(name).matches())
        .filter(name -> end < 0 || typed.lastIndexOf(name) < end)
        .findFirst()
        .ifPresent(
            name -> {
              throw new UnmatchedArgumentException(spec.commandLine(), List.of(name));
            });
  }

  /** Reads the arguments that name no file as rows, before anything is printed. */
  private Map<String, Dataset> rows(SavedModel saved) {
    Map<String, Dataset> rows = new HashMap<>();
    for (String name : files) {
      if (isFile(name)) {
        continue;
      }
      if (saved.normalisation().isPresent() || saved.takesTokens()) {
        throw new InputException(
            name + ": there is no such file, expected an image, a CSV file or a text");
      }
      try {
        rows.put(name, saved.unlabelled(name));
      } catch (DataException e) {
        throw new InputException(
            "%s: there is no such file, and it is no row of values: %s"
                .formatted(name, e.getMessage()),
            e);
      }
    }
    return rows;
  }

  private void refuseForOthers(SavedModel saved, ModelOptions.Chosen chosen) {
    String data = chosen.job().data().name();
    if (invert && saved.normalisation().isEmpty()) {
      throw new InputException(
          "--invert: %s was not trained on images (data set %s), expected a model of images"
              .formatted(chosen.file(), data));
    }
    if (length != null && !saved.takesTokens()) {
      throw new InputException(
          "--continue: %s was not trained on a text (data set %s), expected a model of tokens"
              .formatted(chosen.file(), data));
    }
    if (files.isEmpty() && (invert || length != null)) {
      throw new InputException(
          "%s: expected a file to ask about".formatted(invert ? "--invert" : "--continue"));
    }
  }

  /**
   * Returns the treatment used in training. For other data sets than {@code images} it picks the
   * background, so that the drawing stays visible, unless the options name one.
   */
  private ImageFile.Treatment treatment(ModelOptions.Chosen chosen) {
    ImageFile.Treatment asTrained = ImageFile.Treatment.of(dataOf(chosen));
    if (chosen.job().data().name().equals("images")
        || chosen.job().data().options().containsKey("background")) {
      return asTrained;
    }
    ImageFile.Treatment visible =
        invert ? ImageFile.Treatment.ON_WHITE : ImageFile.Treatment.ON_BLACK;
    return new ImageFile.Treatment(asTrained.fit(), visible.background());
  }

  private static Settings dataOf(ModelOptions.Chosen chosen) {
    String origin = chosen.run().map(run -> run.job().toString()).orElse(chosen.file().toString());
    return Settings.at(origin, "data", new JsonObject(chosen.job().data().options()));
  }

  private void ofImages(
      SavedModel saved, Path file, ImageFile.Treatment treatment, List<Normalisation> rules) {
    float[][] tables = rules.stream().map(Normalisation::table).toArray(float[][]::new);
    List<byte[]> images = ImageFile.read(file, saved.inputShape(), treatment);
    inBatches(
        saved,
        images.size(),
        (index, features, offset) -> normalise(images.get(index), tables, features, offset),
        (outputs, index) ->
            print(saved, "image", images.size() == 1 ? file.toString() : at(file, index), outputs));
  }

  /**
   * Prints predictions for the first test samples. The true class is printed next to each
   * prediction when the test set has classes.
   */
  private void ofTestSet(SavedModel saved) {
    Dataset test = saved.testSet();
    boolean classes =
        test.targets().kind() == Targets.Kind.CLASS && test.targets().positions() == 1;
    for (int i = 0; i < Math.min(SHOWN, test.size()); i++) {
      float[] sample = new float[product(saved.inputShape())];
      test.read(i, sample, 0);
      String name = "test[%s]".formatted(i);
      if (saved.takesTokens()) {
        printNext(name, afterLast(saved, sample), test);
      } else {
        List<String> names = saved.classNames();
        String truth = "";
        if (classes) {
          int label = test.label(i);
          truth = " (is %s)".formatted(names.isEmpty() ? "class " + label : names.get(label));
        }
        print(saved, "sample", name + truth, saved.probabilities(sample, 1));
      }
    }
  }

  private void printNext(String name, float[] next, Dataset text) {
    System.out.println(
        json
            ? ModelText.nextTokenJson(name, next, top, text::text).encode()
            : ModelText.nextToken(name, next, top, text::text));
  }

  private void ofSamples(SavedModel saved, Path file, Dataset samples) {
    inBatches(
        saved,
        samples.size(),
        samples::read,
        (outputs, index) -> print(saved, "sample", at(file, index), outputs));
  }

  private void ofText(SavedModel saved, Path file) {
    Dataset text = saved.unlabelled(file);
    float[] window = new float[product(saved.inputShape())];
    text.read(text.size() - 1, window, 0);
    if (length == null) {
      printNext(file.toString(), afterLast(saved, window), text);
      return;
    }
    int[] prompt = IntStream.range(0, window.length).map(i -> (int) window[i]).toArray();
    TokenSampler sampler =
        new TokenSampler(
            prompt,
            window.length,
            saved.targets().positions(),
            new Sampling(temperature, topK == null ? Integer.MAX_VALUE : topK, seed));
    int[] tokens = new int[length];
    for (int i = 0; i < length; i++) {
      float[] outputs = saved.probabilities(sampler.window(), 1);
      requireFinite("the text", outputs);
      tokens[i] = sampler.next(outputs);
    }
    String continuation = text.text(tokens);
    System.out.println(
        json
            ? new JsonObject()
                .put("text", file.toString())
                .put("continuation", continuation)
                .encode()
            : continuation);
  }

  /**
   * Returns the probabilities of the token after a window: those at its last position when the
   * model has several.
   */
  private static float[] afterLast(SavedModel saved, float[] window) {
    float[] all = saved.probabilities(window, 1);
    requireFinite("the text", all);
    return Arrays.copyOfRange(all, all.length - saved.classes(), all.length);
  }

  /** Writes the features of a sample at an offset. */
  private interface Reader {

    void read(int index, float[] features, int offset);
  }

  private static void inBatches(
      SavedModel saved, int samples, Reader reader, ObjIntConsumer<float[]> outputs) {
    int size = product(saved.inputShape());
    for (int first = 0; first < samples; first += BATCH) {
      int count = Math.min(BATCH, samples - first);
      float[] features = new float[count * size];
      for (int i = 0; i < count; i++) {
        reader.read(first + i, features, i * size);
      }
      float[] found = saved.probabilities(features, count);
      int each = found.length / count;
      for (int i = 0; i < count; i++) {
        outputs.accept(Arrays.copyOfRange(found, i * each, (i + 1) * each), first + i);
      }
    }
  }

  private static void requireFinite(String name, float[] outputs) {
    for (int i = 0; i < outputs.length; i++) {
      if (!Float.isFinite(outputs[i])) {
        throw new InputException(
            "%s: the model answers %s at %s, expected finite numbers: its training diverged, or a value is too large"
                .formatted(name, outputs[i], i));
      }
    }
  }

  private void print(SavedModel saved, String kind, String name, float[] outputs) {
    requireFinite(name, outputs);
    Targets.Kind targets = saved.targets().kind();
    if (targets == Targets.Kind.CLASS) {
      System.out.println(
          json
              ? ModelText.predictionJson(kind, name, outputs, top, saved.classNames()).encode()
              : ModelText.prediction(name, outputs, top, saved.classNames()));
    } else {
      List<String> names = saved.targetColumns().stream().map(TargetColumn::name).toList();
      System.out.println(
          json
              ? ModelText.answersJson(kind, name, outputs, targets, names).encode()
              : ModelText.answers(name, outputs, targets, names));
    }
  }

  private static String at(Path file, int index) {
    return file + "[" + index + "]";
  }

  private static int product(List<Integer> shape) {
    return shape.stream().reduce(1, Math::multiplyExact);
  }

  private void normalise(byte[] image, float[][] tables, float[] features, int offset) {
    int plane = image.length / tables.length;
    for (int i = 0; i < image.length; i++) {
      int value = image[i] & 0xFF;
      features[offset + i] = tables[i / plane][invert ? 255 - value : value];
    }
  }
}
