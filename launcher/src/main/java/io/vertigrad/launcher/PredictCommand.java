package io.vertigrad.launcher;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.data.files.ImageFile;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.launcher.terminal.ModelText;
import io.vertigrad.training.SavedModel;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code vertigrad predict}: what a trained model says to images. */
@Command(
    name = "predict",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Prints class and probability of images: PNG, JPEG, GIF, BMP, or all those of an IDX file.",
      "They are scaled to the model's input and normalised as in training."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class PredictCommand implements Callable<Integer> {

  private static final int BATCH = 128;

  @Mixin private ModelOptions model;

  @Parameters(index = "1..*", arity = "1..*", paramLabel = "FILE", description = "Images.")
  private List<Path> files;

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

  @Option(names = "--json", description = "Prints one JSON object for each image instead.")
  private boolean json;

  @Override
  public Integer call() {
    RunLog.leaveConsole();
    System.setProperty("java.awt.headless", "true");
    for (Path file : files) {
      if (!Files.isRegularFile(file)) {
        throw new InputException(file + ": there is no such file, expected an image");
      }
    }
    if (top < 1) {
      throw new InputException("--top %d: expected at least 1".formatted(top));
    }
    ModelOptions.Chosen chosen = model.chosen();
    try (SavedModel saved = chosen.open()) {
      List<Normalisation> rules =
          saved
              .normalisation()
              .orElseThrow(
                  () ->
                      new InputException(
                          "%s: was not trained on images (data set %s), expected a model of images"
                              .formatted(chosen.file(), chosen.job().data().name())));
      ImageFile.Fit fit = ImageFile.Fit.of(dataOf(chosen));
      float[][] tables = rules.stream().map(Normalisation::table).toArray(float[][]::new);
      for (Path file : files) {
        predict(saved, file, ImageFile.read(file, saved.inputShape(), fit), tables);
      }
    }
    return ExitStatus.OK;
  }

  private static Settings dataOf(ModelOptions.Chosen chosen) {
    String origin = chosen.run().map(run -> run.job().toString()).orElse(chosen.file().toString());
    return Settings.at(origin, "data", new JsonObject(chosen.job().data().options()));
  }

  private void predict(SavedModel saved, Path file, List<byte[]> images, float[][] tables) {
    int size = images.get(0).length;
    for (int first = 0; first < images.size(); first += BATCH) {
      List<byte[]> some = images.subList(first, Math.min(images.size(), first + BATCH));
      float[] features = new float[some.size() * size];
      for (int i = 0; i < some.size(); i++) {
        normalise(some.get(i), tables, features, i * size);
      }
      float[] found = saved.probabilities(features, some.size());
      for (int i = 0; i < some.size(); i++) {
        String name = images.size() == 1 ? file.toString() : file + "[" + (first + i) + "]";
        int classes = saved.classes();
        float[] own = Arrays.copyOfRange(found, i * classes, (i + 1) * classes);
        Targets.Kind kind = saved.targets().kind();
        if (kind == Targets.Kind.CLASS) {
          System.out.println(
              json
                  ? ModelText.predictionJson(name, own, top).encode()
                  : ModelText.prediction(name, own, top));
        } else {
          System.out.println(
              json
                  ? ModelText.answersJson(name, own, kind).encode()
                  : ModelText.answers(name, own, kind));
        }
      }
    }
  }

  private void normalise(byte[] image, float[][] tables, float[] features, int offset) {
    int plane = image.length / tables.length;
    for (int i = 0; i < image.length; i++) {
      int value = image[i] & 0xFF;
      features[offset + i] = tables[i / plane][invert ? 255 - value : value];
    }
  }
}
