package io.vertigrad.launcher;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.ComponentException;
import io.vertigrad.compute.formats.SafetensorsFile;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.Agreement.Difference;
import io.vertigrad.launcher.Agreement.NotCompared;
import io.vertigrad.launcher.job.Assignment;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.training.SavedModel;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Implements {@code vertigrad check}, which compares what a model computes here with what another
 * program has computed with it.
 */
@Command(
    name = "check",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Compares what a model computes here with what another program computed with it.",
      "%nFILE holds a batch x, its targets y and the model's output for x in inference mode; if"
          + " training is compared, also the loss of each of some steps of plain SGD on this batch,"
          + " and as after.NAME the model's arrays after them. docs/guide/pytorch.md shows the"
          + " Python that writes it.",
      "%nA difference is relative where the expected value is larger than 1. Exit code 0 if all are"
          + " within the tolerance, 1 if not."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class CheckCommand implements Callable<Integer> {

  private static final String PYTORCH = "pytorch";

  /** How far the sum of a sample's probabilities in a file may be from 1. */
  private static final double ROUNDING = 1e-3;

  @Mixin private ModelOptions model;

  @Option(
      names = "--with",
      required = true,
      paramLabel = "FILE",
      description = "A safetensors file with what the other program computed.")
  private Path with;

  @Option(
      names = "--rate",
      paramLabel = "R",
      defaultValue = "0.1",
      description = "Learning rate of the file's steps (${DEFAULT-VALUE}).")
  private double rate;

  @Option(
      names = "--loss",
      paramLabel = "LOSS",
      description =
          "Loss of the file's steps, as in model.loss. Without it that of the model's job, or"
              + " crossEntropy if y holds whole numbers, and meanSquaredError if not.")
  private String loss;

  @Option(
      names = "--tolerance",
      paramLabel = "T",
      defaultValue = "1e-5",
      description = "Largest difference that counts as the same (${DEFAULT-VALUE}).")
  private double tolerance;

  @Option(names = "--json", description = "Prints one JSON object instead.")
  private boolean json;

  @Override
  public Integer call() {
    RunLog.leaveConsole();
    if (!(rate > 0) || rate == Double.POSITIVE_INFINITY) {
      throw new InputException("--rate %s: expected more than 0".formatted(rate));
    }
    if (!(tolerance >= 0) || tolerance == Double.POSITIVE_INFINITY) {
      throw new InputException("--tolerance %s: expected 0 or more".formatted(tolerance));
    }
    if (loss != null && !List.of(Loss.keys()).contains(loss)) {
      throw new InputException(
          "--loss %s: expected one of %s".formatted(loss, String.join(", ", Loss.keys())));
    }
    try (ReferenceFile reference = ReferenceFile.open(with)) {
      ModelOptions.Chosen chosen =
          model.chosen((file, job) -> adjust(file, job, reference.usualLoss()));
      Targets targets = reference.targets(chosen.job().loss());
      int steps =
          reference.has(ReferenceFile.LOSS)
              ? reference.tensors().floats(ReferenceFile.LOSS).length
              : 0;
      Agreement agreement = agreement(chosen, reference, targets);
      if (json) {
        System.out.println(
            agreement
                .toJson()
                .put("model", chosen.file().toString())
                .put("file", with.toString())
                .put("engine", chosen.job().engine())
                .put("loss", chosen.job().loss().key())
                .put("samples", reference.samples())
                .put("steps", steps)
                .put("learningRate", rate)
                .encode());
      } else {
        System.out.printf(
            Locale.ROOT,
            "%s with %s: %,d samples of %s, %,d %s, %s%s; engine %s%n",
            chosen.file(),
            with,
            reference.samples(),
            reference.sample(),
            targets.outputs(),
            targets.kind().text(),
            chosen.job().loss().key(),
            steps == 0 ? "" : String.format(Locale.ROOT, "; %,d steps of sgd at %s", steps, rate),
            chosen.job().engine());
        agreement.lines().forEach(System.out::println);
      }
      return agreement.isWithin() ? ExitStatus.OK : ExitStatus.JOB_FAILED;
    }
  }

  /** Adds to a model's job what follows from the model's file and from the targets. */
  private void adjust(Path file, JsonObject job, Loss usual) {
    String name = file.toString().toLowerCase(Locale.ROOT);
    if (name.matches(".*\\.(pt|pt2|pth)")) {
      job.put(JobConfig.ENGINE, PYTORCH);
    } else if (name.matches(".*\\.(h5|hdf5|keras)")) {
      job.put(JobConfig.ENGINE, Engine.USUAL);
    }
    boolean known =
        job.getValue("model") instanceof JsonObject network && network.getValue("loss") != null;
    if (loss != null || !known) {
      new Assignment("model.loss", loss == null ? usual.key() : loss).applyTo(job);
    }
  }

  private Agreement agreement(
      ModelOptions.Chosen chosen, ReferenceFile reference, Targets targets) {
    Batch batch = reference.batch(targets);
    ModelConfig config = config(chosen, reference, targets);
    List<Difference> compared = new ArrayList<>();
    List<NotCompared> notCompared = new ArrayList<>();
    boolean raw = chosen.job().engine().equals(PYTORCH) && config.loss() != Loss.MEAN_SQUARED_ERROR;
    if (raw) {
      try (Model opened = opened(chosen, withRawOutputs(config))) {
        compared.add(output(opened, batch, reference, config, true));
      }
    }
    if (!raw || reference.has(ReferenceFile.LOSS)) {
      try (Model opened = opened(chosen, config)) {
        if (!raw) {
          compared.add(output(opened, batch, reference, config, false));
        }
        if (reference.has(ReferenceFile.LOSS)) {
          float[] after = trained(chosen, opened, batch, reference, compared);
          compareArrays(opened.layout(), after, reference, compared, notCompared);
        }
      }
    }
    return new Agreement(compared, notCompared, tolerance);
  }

  private static ModelConfig config(
      ModelOptions.Chosen chosen, ReferenceFile reference, Targets targets) {
    int tokens = reference.tokens();
    if (!SavedModel.isSafetensors(chosen.file())) {
      return chosen.job().modelIn(chosen.file().toString(), reference.sample(), targets, tokens);
    }
    // A network that is built needs the size of its vocabulary, which a network for text puts out.
    int vocabulary = tokens == 0 ? 0 : Math.max(tokens, reference.lastOutputs());
    return chosen.job().modelOn(reference.sample(), targets, vocabulary);
  }

  /** Returns the same model with the loss for which the engine returns outputs as they are. */
  private static ModelConfig withRawOutputs(ModelConfig config) {
    return new ModelConfig(
        config.name(),
        config.options(),
        config.inputShape(),
        config.classes(),
        config.seed(),
        config.threads(),
        Loss.MEAN_SQUARED_ERROR,
        config.positions(),
        config.tokens(),
        config.device(),
        config.precision());
  }

  private static Model opened(ModelOptions.Chosen chosen, ModelConfig config) {
    Engine engine = Engine.named(chosen.job().engine());
    Model opened = called(config, "its creation", () -> engine.model(config));
    if (!SavedModel.isSafetensors(chosen.file())) {
      return opened;
    }
    try (SafetensorsFile parameters = SafetensorsFile.open(chosen.file())) {
      parameters.require(opened.layout());
      parameters.read(opened.layout(), opened::writeParameters);
      return opened;
    } catch (RuntimeException e) {
      opened.close();
      throw e;
    }
  }

  private static <T> T called(ModelConfig config, String where, Supplier<T> code) {
    return ComponentException.call("model \"%s\"".formatted(config.name()), where, code);
  }

  /**
   * Compares the outputs in inference mode.
   *
   * @param raw whether the model returns its outputs as they are, not probabilities
   */
  private static Difference output(
      Model opened, Batch batch, ReferenceFile reference, ModelConfig config, boolean raw) {
    float[] found =
        called(config, "its output", () -> opened.probabilities(batch, config.classes()));
    float[] expected = reference.tensors().floats(ReferenceFile.OUTPUT);
    List<Integer> shape = reference.tensors().shape(ReferenceFile.OUTPUT);
    if (found.length != expected.length) {
      throw new InputException(
          "%s: output has %s values, but the model puts out %s for this x"
              .formatted(config.name(), expected.length, found.length));
    }
    Difference direct = Difference.of(ReferenceFile.OUTPUT, shape, found, expected);
    if (raw || config.loss() == Loss.CROSS_ENTROPY && areProbabilities(expected, config)) {
      return direct;
    }
    return switch (config.loss()) {
      case MEAN_SQUARED_ERROR -> direct;
      case BINARY_CROSS_ENTROPY -> {
        // Probabilities and logits of labels may look the same.
        Difference logits = Difference.of("sigmoid of output", shape, found, sigmoid(expected));
        yield direct.largest() <= logits.largest() ? direct : logits;
      }
      case CROSS_ENTROPY ->
          Difference.of("softmax of output", shape, found, softmax(expected, config.classes()));
    };
  }

  private static boolean areProbabilities(float[] outputs, ModelConfig config) {
    for (float one : outputs) {
      if (!(one >= 0 && one <= 1)) {
        return false;
      }
    }
    for (int first = 0; first < outputs.length; first += config.classes()) {
      double sum = 0;
      for (int k = 0; k < config.classes(); k++) {
        sum += outputs[first + k];
      }
      if (Math.abs(sum - 1) > ROUNDING) {
        return false;
      }
    }
    return true;
  }

  private static float[] sigmoid(float[] logits) {
    float[] found = new float[logits.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = (float) (1 / (1 + Math.exp(-(double) logits[i])));
    }
    return found;
  }

  private static float[] softmax(float[] logits, int classes) {
    float[] found = new float[logits.length];
    for (int first = 0; first < found.length; first += classes) {
      float largest = Float.NEGATIVE_INFINITY;
      for (int k = first; k < first + classes; k++) {
        largest = Math.max(largest, logits[k]);
      }
      double sum = 0;
      for (int k = first; k < first + classes; k++) {
        sum += Math.exp((double) logits[k] - largest);
      }
      for (int k = first; k < first + classes; k++) {
        found[k] = (float) (Math.exp((double) logits[k] - largest) / sum);
      }
    }
    return found;
  }

  /** Trains as many steps as the file has, compares their losses, and returns the parameters. */
  private float[] trained(
      ModelOptions.Chosen chosen,
      Model opened,
      Batch batch,
      ReferenceFile reference,
      List<Difference> compared) {
    ParameterLayout layout = opened.layout();
    float[] parameters = new float[layout.length()];
    float[] gradient = new float[layout.length()];
    opened.readParameters(0, FloatBuffer.wrap(parameters));
    Optimizer optimizer =
        Optimizer.of(
            Engine.named(chosen.job().engine()), OptimizerConfig.sgd(rate), layout.trainable());
    float[] expected = reference.tensors().floats(ReferenceFile.LOSS);
    float[] losses = new float[expected.length];
    for (int step = 0; step < losses.length; step++) {
      losses[step] =
          ComponentException.<Double>call(
                  "model \"%s\"".formatted(chosen.file()),
                  "step " + step,
                  () -> opened.gradient(batch))
              .floatValue();
      opened.readGradient(0, FloatBuffer.wrap(gradient));
      optimizer.step(parameters, gradient, step, 0);
      opened.writeParameters(0, FloatBuffer.wrap(parameters));
    }
    compared.add(
        Difference.of(
            ReferenceFile.LOSS, reference.tensors().shape(ReferenceFile.LOSS), losses, expected));
    return parameters;
  }

  /** Compares the arrays after the last step by name, and lists those that only one side has. */
  private void compareArrays(
      ParameterLayout layout,
      float[] after,
      ReferenceFile reference,
      List<Difference> compared,
      List<NotCompared> notCompared) {
    SafetensorsFile tensors = reference.tensors();
    List<String> names =
        tensors.names().stream().filter(name -> name.startsWith(ReferenceFile.AFTER)).toList();
    Map<String, Block> blocks = new LinkedHashMap<>();
    Map<String, Integer> starts = new LinkedHashMap<>();
    int start = 0;
    for (Block block : layout.blocks()) {
      blocks.put(ReferenceFile.AFTER + block.name(), block);
      starts.put(ReferenceFile.AFTER + block.name(), start);
      start += block.length();
    }
    Set<String> matched = new HashSet<>(names);
    matched.retainAll(blocks.keySet());
    for (String name : names) {
      if (matched.contains(name)) {
        Block block = blocks.get(name);
        requireShape(tensors.shape(name), block);
        int first = starts.get(name);
        compared.add(
            Difference.of(
                name,
                block.shape(),
                Arrays.copyOfRange(after, first, first + block.length()),
                tensors.floats(name)));
      } else {
        notCompared.add(new NotCompared(name, reason(name, tensors, matched)));
      }
    }
    for (String name : blocks.keySet()) {
      if (!names.isEmpty() && !matched.contains(name)) {
        notCompared.add(
            new NotCompared(
                name.substring(ReferenceFile.AFTER.length()),
                "the file has nothing of this array of the model"));
      }
    }
  }

  private void requireShape(List<Integer> found, Block block) {
    if (!found.equals(block.shape())) {
      throw new InputException(
          "%s: after.%s has the shape %s, expected %s as in the model"
              .formatted(with, block.name(), found, block.shape()));
    }
  }

  /** Returns why an array is not compared. */
  private static String reason(String name, SafetensorsFile tensors, Set<String> matched) {
    if (tensors.isWhole(name)) {
      return "whole numbers, such as counters, are not trained";
    }
    float[] values = tensors.floats(name);
    return matched.stream()
        .filter(other -> tensors.shape(other).equals(tensors.shape(name)))
        .filter(other -> Arrays.equals(tensors.floats(other), values))
        .findFirst()
        .map(other -> "another name of " + other + ", which has the same values")
        .orElse("the model trains no array of this name");
  }
}
