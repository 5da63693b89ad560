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
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.FieldReader;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.data.TargetColumn;
import io.vertigrad.compute.formats.ModelArchive;
import io.vertigrad.compute.formats.SafetensorsFile;
import io.vertigrad.internal.exchange.InitialParameters;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.ParameterReader.ParameterHash;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.ModelDescription.Input;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/**
 * A trained model that you can test, ask for predictions and export to other formats: an engine's
 * own file, such as a run's {@code model.zip}, or a safetensors file that Vertigrad wrote.
 *
 * <p>Any thread may call it; calls that compute run one after the other.
 */
public final class SavedModel implements AutoCloseable {

  /** The format in which models of every engine can be written. */
  public static final String SAFETENSORS = "safetensors";

  private static final ClassLoader LOADER = SavedModel.class.getClassLoader();

  private final JobConfig job;
  private final Path file;
  private final Input input;
  private final Model model;

  /** The only thread that uses the model; {@link #close} ends it. */
  private final ExecutorService thread;

  private SavedModel(
      JobConfig job, Path file, Input input, ExecutorService thread, Supplier<Model> opening) {
    this.job = job;
    this.file = file;
    this.input = input;
    this.thread = thread;
    this.model = on(thread, opening::get);
  }

  /**
   * Opens a model from its file alone, without data.
   *
   * @param file an engine's own file that this version has saved, or a safetensors file that it has
   *     exported
   * @return the model, which must be closed
   * @throws DataException when the file cannot be read, or does not describe its samples
   * @throws IllegalArgumentException when the engine cannot build the model from it
   */
  public static SavedModel open(Path file) {
    JsonObject found = jobOf(file);
    if (found.isEmpty()) {
      throw new DataException(
          "%s: does not say what it was trained on, expected a file that this version has saved; open it with its job"
              .formatted(file));
    }
    return open(JobConfig.read(file.toString(), found), file);
  }

  /**
   * Opens a model. If the file does not describe its samples, as files of earlier versions and of
   * other programs do not, the job's test set is opened for that.
   *
   * @param job the job that trained it; its engine and data are used, and for a safetensors file
   *     its model
   * @param file the model
   * @return the model, which must be closed
   * @throws DataException when the file or the data cannot be read
   * @throws IllegalArgumentException when the engine cannot build the model from it
   */
  public static SavedModel open(JobConfig job, Path file) {
    ExecutorService thread =
        Executors.newSingleThreadExecutor(
            work -> {
              Thread made = new Thread(work, "vertigrad-model");
              made.setDaemon(true);
              return made;
            });
    try {
      Input input = inputOf(job, file);
      return new SavedModel(
          job,
          file,
          input,
          thread,
          () -> isSafetensors(file) ? restored(job, file, input) : built(job, file, input));
    } catch (RuntimeException | Error e) {
      thread.shutdown();
      throw e;
    }
  }

  private static Input inputOf(JobConfig job, Path file) {
    Optional<Input> found;
    if (isSafetensors(file)) {
      try (SafetensorsFile tensors = SafetensorsFile.open(file)) {
        found = ModelDescription.input(file, tensors.metadata());
      }
    } else {
      found = ModelDescription.read(file).map(ModelDescription::input);
    }
    return found.orElseGet(() -> Input.of(test(job.data())));
  }

  private static Model built(JobConfig job, Path file, Input input) {
    ModelConfig saved =
        job.modelIn(file.toString(), input.shape(), input.targets(), input.tokens());
    return JobModel.of(job, job.data().fitted(input.fitted()), saved);
  }

  private static Model restored(JobConfig job, Path file, Input input) {
    try (SafetensorsFile tensors = SafetensorsFile.open(file)) {
      Model model = JobModel.of(job, job.data().fitted(input.fitted()), modelOn(job, input));
      try {
        tensors.require(model.layout());
        tensors.read(model.layout(), model::writeParameters);
        return model;
      } catch (RuntimeException e) {
        model.close();
        throw e;
      }
    }
  }

  /**
   * Returns the sections of a model's job that its file contains.
   *
   * @param file an engine's own file, or a safetensors file
   * @return the sections {@code model} and {@code data}, and {@code engine}; empty when the file
   *     contains none
   * @throws DataException when the file cannot be read
   */
  public static JsonObject jobOf(Path file) {
    if (!isSafetensors(file)) {
      return ModelDescription.read(file).map(ModelDescription::job).orElseGet(JsonObject::new);
    }
    try (SafetensorsFile tensors = SafetensorsFile.open(file)) {
      return ModelDescription.job(tensors.metadata());
    } catch (DecodeException e) {
      throw new DataException(
          "%s: header: its vertigrad.* are not valid JSON: %s; expected what export wrote there"
              .formatted(file, firstLine(e)),
          e);
    }
  }

  /**
   * Builds the model that a job starts from, if it comes from a file, and closes it again. So a
   * file that does not fit is found before anything else begins.
   *
   * @param job the job whose model is checked
   * @return the number of parameters; empty if there is no such file and the engine cannot count
   *     them without building the model
   * @throws DataException when {@code model.parameters} names a file that does not fit the model
   * @throws IllegalArgumentException when {@code model.name} names a file that does not fit the
   *     data
   */
  public static OptionalLong checkStart(JobConfig job) {
    Engine engine = Engine.named(job.engine());
    ModelConfig config = job.modelOn(test(job.data()));
    if (job.initialParameters().isEmpty() && !isFile(job.model().name())) {
      return engine.parameters(config);
    }
    try (Model model = InitialParameters.into(JobModel.of(job, config), job)) {
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
   * Returns whether a file is a safetensors file, by its name.
   *
   * @param file file of a model
   * @return true for a safetensors file
   */
  public static boolean isSafetensors(Path file) {
    return file.toString().endsWith("." + SAFETENSORS);
  }

  /**
   * Returns the shape of one sample.
   *
   * @return its dimensions, channels first
   */
  public List<Integer> inputShape() {
    return input.shape();
  }

  /**
   * Returns the labels or real values that the model predicts, by name.
   *
   * @return as many as there are {@link #classes}; empty for classes, and for targets without names
   */
  public List<TargetColumn> targetColumns() {
    return DatasetProvider.targetColumns(data(), LOADER);
  }

  /**
   * Returns the number of classes, labels or values.
   *
   * @return the number of outputs for one sample
   */
  public int classes() {
    return input.classes();
  }

  /**
   * Returns the names of the classes.
   *
   * @return by class; empty if classes are only numbers
   */
  public List<String> classNames() {
    return input.classNames();
  }

  /**
   * Returns what the model predicts for each sample.
   *
   * @return classes, labels or values
   */
  public Targets targets() {
    return input.targets();
  }

  /**
   * Returns the metric that is reported beside the loss.
   *
   * @return the metric
   */
  public Metric metric() {
    return Metric.of(job.loss(), input.tokens() > 0);
  }

  /**
   * Returns how bytes became features in training.
   *
   * @return one rule for each channel; empty if samples were not bytes
   */
  public Optional<List<Normalisation>> normalisation() {
    return input.bytes();
  }

  /**
   * Tests the model on the job's whole test set, as the evaluator does.
   *
   * @param topK also counts samples whose class is among this many most probable ones; 0 for none
   * @return the number of samples, the sum of their losses, and the number of correct predictions
   * @throws DataException when the data cannot be read, or have another shape than the model
   */
  public Score evaluate(int topK) {
    Dataset test = test(data());
    if (test.size() == 0) {
      throw new DataException(
          "%s: the data set '%s' has no test set: its samples are tested while they are trained on"
              .formatted(file, job.data().name()));
    }
    if (!test.shape().equals(input.shape()) || !test.targets().equals(input.targets())) {
      throw new DataException(
          "%s: takes samples of shape %s in %s %s, but the data set '%s' has %s in %s %s"
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
    if (!input.classNames().isEmpty()
        && !test.classNames().isEmpty()
        && !test.classNames().equals(input.classNames())) {
      throw new DataException(
          "%s: was trained on the classes %s, but the data set '%s' has %s; expected the same in this order"
              .formatted(
                  file,
                  String.join(", ", input.classNames()),
                  job.data().name(),
                  String.join(", ", test.classNames())));
    }
    return on(thread, () -> score(test, topK));
  }

  /**
   * Opens the test set of the job, prepared as in training.
   *
   * @return the samples
   * @throws DataException when the data cannot be read
   */
  public Dataset testSet() {
    return test(data());
  }

  private Score score(Dataset test, int topK) {
    Score score = Score.NONE;
    for (Batch batch : SequentialBatches.all(test, FinalModel.BATCH)) {
      score = score.plus(model.score(batch, topK));
    }
    return score;
  }

  /**
   * Returns the hash of the parameters.
   *
   * @return 16 hexadecimal digits, as in {@code summary.json}
   */
  public String parametersHash() {
    return on(thread, () -> ParameterHash.of(model));
  }

  /**
   * Returns whether the model was trained on a text, or other token ids.
   *
   * @return false if features are numbers
   */
  public boolean takesTokens() {
    return input.tokens() > 0;
  }

  /**
   * Reads samples to predict from a file with the same layout as the training files.
   *
   * @param samples the file; targets of samples may be missing in it
   * @return the samples, in the file's order; their targets must not be read
   * @throws DataException when the file cannot be read, the job's data set cannot read such files,
   *     or its vocabulary has changed
   */
  public Dataset unlabelled(Path samples) {
    return checked(DatasetProvider.unlabelled(data(), samples, input.shape(), LOADER));
  }

  /**
   * Reads one sample to predict from a line of text, such as {@code 3.1,red,7}, with values as in
   * the training files.
   *
   * @param line a line as in such a file; the targets may be missing in it
   * @return one sample
   * @throws DataException when the line holds something else, or the job's data set has no lines
   */
  public Dataset unlabelled(String line) {
    return checked(DatasetProvider.unlabelled(data(), line, input.shape(), LOADER));
  }

  private Dataset checked(Dataset found) {
    if (found.tokens() != input.tokens()) {
      throw new DataException(
          "%s: was trained on ids of %s tokens, but the data set '%s' has %s now; expected the vocabulary of the training (data.vocabulary)"
              .formatted(file, input.tokens(), job.data().name(), found.tokens()));
    }
    return found;
  }

  /**
   * Returns the reader of samples whose values have the names of the training data's fields.
   *
   * @return empty if the values of the job's data set have no names
   */
  public Optional<FieldReader> fields() {
    return DatasetProvider.fields(data(), input.shape(), LOADER);
  }

  /**
   * Returns the number of different token ids.
   *
   * @return 0 if features are numbers
   */
  public int tokens() {
    return input.tokens();
  }

  /**
   * Returns the job that trained the model.
   *
   * @return the job; of a model that was opened from its file alone, the sections in that file
   */
  public JobConfig job() {
    return job;
  }

  /**
   * Predicts samples.
   *
   * @param features sample after sample, normalised as in training
   * @param count number of samples, at least 1
   * @return for each sample one probability per class or label, or the values; a sample with
   *     several positions has one probability per class at each position, position after position
   */
  public float[] probabilities(float[] features, int count) {
    Batch batch = new Batch(count, features, new int[count], new float[0], input.shape(), 0);
    return on(thread, () -> model.probabilities(batch, input.classes()));
  }

  /**
   * Writes the model for another program, completely or not at all.
   *
   * @param format {@link #SAFETENSORS}, the extension of the engine's own file, or another format
   *     that the engine writes
   * @param target the file, which is replaced if it exists
   * @throws IOException when it cannot be written
   * @throws IllegalArgumentException with a message for the user when the engine cannot write that
   *     format, or not this network
   */
  public void export(String format, Path target) throws IOException {
    try {
      on(
          thread,
          () -> {
            written(format, target);
            return null;
          });
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  private void written(String format, Path target) throws IOException {
    ModelDescription description = ModelDescription.of(job, input);
    if (format.equals(SAFETENSORS)) {
      SafetensorsFile.write(target, description.texts(), layout(), model);
    } else if (Engine.named(job.engine()).modelFile(job.model().name()).endsWith("." + format)) {
      description.save(target, model::save);
    } else if (format.equals("dl4j")) {
      description.save(target, part -> model.export(format, part));
    } else {
      ModelArchive.replace(
          target,
          part -> {
            model.export(format, part);
            if (format.equals("onnx")) {
              description.addToOnnx(part);
            }
          });
    }
  }

  @Override
  public void close() {
    if (!thread.isShutdown()) {
      on(
          thread,
          () -> {
            model.close();
            return null;
          });
      thread.shutdown();
    }
  }

  /** Runs work on the model's thread, and waits until it is done. */
  private static <T> T on(ExecutorService thread, Callable<T> work) {
    try {
      return thread.submit(work).get();
    } catch (RejectedExecutionException closed) {
      throw new IllegalStateException("the model was closed", closed);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while the model computed", e);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      if (cause instanceof IOException io) {
        throw new UncheckedIOException(io);
      }
      if (cause instanceof RuntimeException failure) {
        throw failure;
      }
      if (cause instanceof Error error) {
        throw error;
      }
      throw new IllegalStateException(cause);
    }
  }

  /**
   * Returns the layout with the array names of the job's model; the engine's own file may use other
   * names.
   */
  private ParameterLayout layout() {
    if (isFile(job.model().name())) {
      return model.layout();
    }
    try (Model built = JobModel.of(job, modelOn(job, input))) {
      return calledAs(built.layout(), model.layout());
    }
  }

  /**
   * Returns the first layout if both differ only in characters that TorchScript does not allow in
   * names, otherwise the second.
   */
  static ParameterLayout calledAs(ParameterLayout built, ParameterLayout saved) {
    return plain(built).equals(plain(saved)) ? built : saved;
  }

  private static List<Block> plain(ParameterLayout layout) {
    return layout.blocks().stream()
        .map(block -> new Block(block.name().replaceAll("\\W", "_"), block.shape(), block.kind()))
        .toList();
  }

  /** Returns the job's data configuration, with the preparation that was fitted in training. */
  private DataConfig data() {
    return job.data().fitted(input.fitted());
  }

  private static ModelConfig modelOn(JobConfig job, Input input) {
    return job.modelOn(input.shape(), input.targets(), input.tokens());
  }

  private static Dataset test(DataConfig data) {
    return DatasetProvider.open(data, Split.TEST, LOADER);
  }

  private static String firstLine(Throwable error) {
    return String.valueOf(error.getMessage()).lines().findFirst().orElse("");
  }
}
