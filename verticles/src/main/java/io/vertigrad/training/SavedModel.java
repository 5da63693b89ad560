package io.vertigrad.training;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.formats.SafetensorsFile;
import io.vertigrad.internal.exchange.InitialParameters;
import io.vertigrad.internal.exchange.ParameterHash;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * A model that was trained before, to be tested, asked and written in other formats: an engine's
 * own file, such as a run's {@code model.zip}, or a safetensors file that Vertigrad wrote.
 *
 * <p>Every call, {@link #open} and {@link #close} included, must come from one and the same thread.
 */
public final class SavedModel implements AutoCloseable {

  /** The format that every engine's models are written in. */
  public static final String SAFETENSORS = "safetensors";

  private static final ClassLoader LOADER = SavedModel.class.getClassLoader();
  private static final String PREFIX = "vertigrad.";
  private static final String ENGINE = PREFIX + "engine";
  private static final String MODEL = PREFIX + "model";
  private static final String DATA = PREFIX + "data";
  private static final String INPUT = PREFIX + "input";

  private final JobConfig job;
  private final Path file;
  private final Input input;
  private final Model model;

  /** What goes in and comes out. */
  private record Input(
      List<Integer> shape, Targets targets, int tokens, Optional<List<Normalisation>> bytes) {

    static Input of(Dataset data) {
      return new Input(data.shape(), data.targets(), data.tokens(), data.normalisation());
    }

    int classes() {
      return targets.outputs();
    }

    JsonObject toJson() {
      JsonObject json =
          new JsonObject()
              .put("shape", new JsonArray(new ArrayList<>(shape)))
              .put("classes", classes());
      if (!targets.equals(Targets.classes(classes()))) {
        json.put("targets", targets.kind().name()).put("positions", targets.positions());
      }
      if (tokens > 0) {
        json.put("tokens", tokens);
      }
      bytes.ifPresent(
          rules -> {
            JsonArray array = new JsonArray();
            rules.forEach(
                rule ->
                    array.add(
                        new JsonArray().add(rule.range()).add(rule.mean()).add(rule.deviation())));
            json.put("normalization", array);
          });
      return json;
    }

    static Input read(JsonObject json) {
      List<Integer> shape = new ArrayList<>();
      json.getJsonArray("shape").forEach(size -> shape.add((Integer) size));
      JsonArray array = json.getJsonArray("normalization");
      List<Normalisation> rules = new ArrayList<>();
      for (int i = 0; array != null && i < array.size(); i++) {
        JsonArray rule = array.getJsonArray(i);
        rules.add(new Normalisation(rule.getFloat(0), rule.getFloat(1), rule.getFloat(2)));
      }
      boolean fits =
          !shape.isEmpty()
              && shape.stream().allMatch(size -> size > 0)
              && json.getInteger("classes") > 0
              && (array == null || rules.size() == shape.get(0));
      if (!fits) {
        throw new IllegalArgumentException(json.encode());
      }
      Targets targets =
          new Targets(
              Targets.Kind.valueOf(json.getString("targets", Targets.Kind.CLASS.name())),
              json.getInteger("classes"),
              json.getInteger("positions", 1));
      return new Input(
          shape,
          targets,
          json.getInteger("tokens", 0),
          Optional.of(rules).filter(r -> !r.isEmpty()));
    }
  }

  private SavedModel(JobConfig job, Path file, Input input, Model model) {
    this.job = job;
    this.file = file;
    this.input = input;
    this.model = model;
  }

  /**
   * Opens a model. Where the file does not say what samples look like, the job's test set is opened
   * for it.
   *
   * @param job the job that trained it; its engine and data count, and of a safetensors file its
   *     model
   * @param file the model
   * @return the model, which must be closed
   * @throws DataException when the file or the data cannot be read
   * @throws IllegalArgumentException when the engine cannot build the model from it
   */
  public static SavedModel open(JobConfig job, Path file) {
    if (!isSafetensors(file)) {
      Input input = Input.of(test(job));
      ModelConfig saved = modelOn(job, input).named(file.toString(), Map.of());
      return new SavedModel(job, file, input, Engine.named(job.engine()).model(saved));
    }
    try (SafetensorsFile tensors = SafetensorsFile.open(file)) {
      String text = tensors.metadata().get(INPUT);
      Input input = text == null ? Input.of(test(job)) : described(file, text);
      Model model = Engine.named(job.engine()).model(modelOn(job, input));
      try {
        tensors.require(model.layout());
        tensors.read(model.layout(), model::writeParameters);
        return new SavedModel(job, file, input, model);
      } catch (RuntimeException e) {
        model.close();
        throw e;
      }
    }
  }

  /**
   * Tells the job of a model in a safetensors file, as far as the file says it.
   *
   * @param file in that format
   * @return sections of a job file, {@code model} and {@code data}, and {@code engine}; empty when
   *     Vertigrad did not write the file
   * @throws DataException when the file cannot be read
   */
  public static JsonObject jobOf(Path file) {
    JsonObject job = new JsonObject();
    try (SafetensorsFile tensors = SafetensorsFile.open(file)) {
      Map<String, String> texts = tensors.metadata();
      if (texts.containsKey(ENGINE)) {
        job.put("engine", texts.get(ENGINE));
      }
      if (texts.containsKey(MODEL)) {
        job.put("model", new JsonObject(texts.get(MODEL)));
      }
      if (texts.containsKey(DATA)) {
        job.put("data", new JsonObject(texts.get(DATA)));
      }
      return job;
    } catch (DecodeException e) {
      throw new DataException(
          "%s: header: its %s* are not valid JSON: %s; expected what export wrote there"
              .formatted(file, PREFIX, firstLine(e)),
          e);
    }
  }

  /**
   * Builds the model that a job's training begins with, where that comes from a file, and lets it
   * go again: what does not fit is found before anything else begins.
   *
   * @param job whose model is checked
   * @return how many parameters it has; empty where there is no such file and the engine does not
   *     know it without building the model
   * @throws DataException when {@code model.parameters} names a file that does not fit the model
   * @throws IllegalArgumentException when {@code model.name} names a file that does not fit the
   *     data
   */
  public static OptionalLong checkStart(JobConfig job) {
    Engine engine = Engine.named(job.engine());
    ModelConfig config = job.modelOn(test(job));
    if (job.initialParameters().isEmpty() && !isFile(job.model().name())) {
      return engine.parameters(config);
    }
    try (Model model = InitialParameters.into(engine.model(config), job)) {
      return OptionalLong.of(model.layout().length());
    }
  }

  private static boolean isFile(String name) {
    try {
      return Files.exists(Path.of(name));
    } catch (InvalidPathException e) {
      return false;
    }
  }

  /**
   * Tells whether a file is in that format, by its name.
   *
   * @param file of a model
   * @return true for a safetensors file
   */
  public static boolean isSafetensors(Path file) {
    return file.toString().endsWith("." + SAFETENSORS);
  }

  /**
   * Tells what one sample looks like.
   *
   * @return its dimensions, channels first
   */
  public List<Integer> inputShape() {
    return input.shape();
  }

  /**
   * Tells how many classes, labels or values there are.
   *
   * @return the length of what comes out for one sample
   */
  public int classes() {
    return input.classes();
  }

  /**
   * Tells what it is asked of each sample.
   *
   * @return classes, labels or values
   */
  public Targets targets() {
    return input.targets();
  }

  /**
   * Tells what people are told of its tests beside the loss.
   *
   * @return the metric
   */
  public Metric metric() {
    return Metric.of(job.loss(), input.tokens() > 0);
  }

  /**
   * Tells how bytes became features when it was trained.
   *
   * @return one rule for each channel; empty where samples were no bytes
   */
  public Optional<List<Normalisation>> normalisation() {
    return input.bytes();
  }

  /**
   * Tests it on all of the job's test set, as the evaluator does.
   *
   * @param topK how many of the most probable classes count beside the first; 0 to count none
   * @return the samples, the sum of their losses, and how many were right
   * @throws DataException when the data cannot be read, or are of another shape than the model
   */
  public Score evaluate(int topK) {
    Dataset test = test(job);
    if (!test.shape().equals(input.shape()) || !test.targets().equals(input.targets())) {
      throw new DataException(
          "%s: takes samples of shape %s in %d %s, but the data set '%s' has %s in %d %s"
              .formatted(
                  file,
                  input.shape(),
                  input.classes(),
                  input.targets().kind().text(),
                  job.data().name(),
                  test.shape(),
                  test.classes(),
                  test.targets().kind().text()));
    }
    Score score = Score.NONE;
    for (Batch batch : SequentialBatches.all(test, FinalModel.BATCH)) {
      score = score.plus(model.score(batch, topK));
    }
    return score;
  }

  /**
   * Tells what the parameters are.
   *
   * @return 16 hexadecimal digits, as {@code summary.json} has them
   */
  public String parametersHash() {
    return ParameterHash.of(model);
  }

  /**
   * Tells whether it was trained on a text, or other ids of tokens.
   *
   * @return false where features are numbers
   */
  public boolean takesTokens() {
    return input.tokens() > 0;
  }

  /**
   * Reads samples to ask it about from a file that is laid out as those it was trained on.
   *
   * @param samples the file; what the model tells of a sample may be missing in it
   * @return the samples, in the file's order; targets are not to be asked of them
   * @throws DataException when the file cannot be read, the job's data set reads none alone, or its
   *     vocabulary is another by now
   */
  public Dataset unlabelled(Path samples) {
    Dataset found = DatasetProvider.unlabelled(job.data(), samples, input.shape(), LOADER);
    if (found.tokens() != input.tokens()) {
      throw new DataException(
          "%s: was trained on ids of %d tokens, but the data set '%s' has %d now; expected the vocabulary of the training (data.vocabulary)"
              .formatted(file, input.tokens(), job.data().name(), found.tokens()));
    }
    return found;
  }

  /**
   * Asks the model.
   *
   * @param features sample after sample, normalised as in training
   * @param count number of samples, at least 1
   * @return sample after sample one probability for each class or label, or the values; where a
   *     sample has several positions, one for each class at one position after the other
   */
  public float[] probabilities(float[] features, int count) {
    return model.probabilities(
        new Batch(count, features, new int[count], new float[0], input.shape(), 0),
        input.classes());
  }

  /**
   * Writes it for another program, as a whole or not at all.
   *
   * @param format {@link #SAFETENSORS}, the ending of the engine's own file, or another format that
   *     the engine writes
   * @param target is written anew
   * @throws IOException when it cannot be written
   * @throws IllegalArgumentException with a message for the user when the engine does not write
   *     that format, or not this network
   */
  public void export(String format, Path target) throws IOException {
    if (format.equals(SAFETENSORS)) {
      SafetensorsFile.write(target, metadata(), layout(), model::readParameters);
      return;
    }
    Path part = target.resolveSibling(target.getFileName() + ".part");
    try {
      if (Engine.named(job.engine()).modelFile().endsWith("." + format)) {
        model.save(part);
      } else {
        model.export(format, part);
      }
      Files.move(part, target, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(part);
    }
  }

  @Override
  public void close() {
    model.close();
  }

  /** The arrays as the job's model calls them, which the engine's own file may call otherwise. */
  private ParameterLayout layout() {
    if (isFile(job.model().name())) {
      return model.layout();
    }
    ModelConfig config = modelOn(job, input);
    try (Model built = Engine.named(job.engine()).model(config)) {
      return calledAs(built.layout(), model.layout());
    }
  }

  /** The first layout where both differ in characters that TorchScript has no names with, only. */
  static ParameterLayout calledAs(ParameterLayout built, ParameterLayout saved) {
    return plain(built).equals(plain(saved)) ? built : saved;
  }

  private static List<Block> plain(ParameterLayout layout) {
    return layout.blocks().stream()
        .map(block -> new Block(block.name().replaceAll("\\W", "_"), block.shape(), block.kind()))
        .toList();
  }

  private Map<String, String> metadata() {
    JsonObject network = job.model().settings().toJson().copy();
    network.put("name", job.model().name()).remove("parameters");
    JsonObject data =
        new JsonObject(new TreeMap<>(job.data().options())).put("name", job.data().name());
    Map<String, String> texts = new TreeMap<>();
    texts.put("format", "vertigrad");
    texts.put(ENGINE, job.engine());
    texts.put(MODEL, network.encode());
    texts.put(DATA, data.encode());
    texts.put(INPUT, input.toJson().encode());
    return texts;
  }

  private static ModelConfig modelOn(JobConfig job, Input input) {
    return job.modelOn(input.shape(), input.targets(), input.tokens());
  }

  private static Dataset test(JobConfig job) {
    return DatasetProvider.open(job.data(), Split.TEST, LOADER);
  }

  private static Input described(Path file, String text) {
    try {
      return Input.read(new JsonObject(text));
    } catch (RuntimeException e) {
      throw new DataException(
          "%s: header: %s is %s, expected what export wrote there"
              .formatted(file, INPUT, text.length() > 80 ? text.substring(0, 80) + "..." : text),
          e);
    }
  }

  private static String firstLine(Throwable error) {
    return String.valueOf(error.getMessage()).lines().findFirst().orElse("");
  }
}
