package io.vertigrad.compute.data;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.settings.MissingClass;
import io.vertigrad.compute.settings.NamedClass;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.ServiceLoader;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Opens a data set by name. Providers are found through ServiceLoader, or by class name. */
public interface DatasetProvider {

  /** Number of classes that {@link #describe(DataConfig, Dataset)} names. */
  int MOST_CLASSES_SHOWN = 10;

  /**
   * Returns the name that job files use.
   *
   * @return one word
   */
  String name();

  /**
   * Opens one split.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @return the samples, which any thread may read
   * @throws DataException with the file, what was found and what is expected
   * @throws io.vertigrad.compute.settings.SettingsException with an option that is unknown or out
   *     of range
   */
  Dataset open(DataConfig config, Split split);

  /**
   * Checks the options, and that a split's files exist, without reading them, so that a mistake is
   * found before anything else begins. Does not look for files that may be downloaded.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @throws DataException as {@link #open} does
   * @throws io.vertigrad.compute.settings.SettingsException with an option that is unknown or out
   *     of range
   */
  default void check(DataConfig config, Split split) {}

  /**
   * Returns the number of samples of a split; opens the split unless a provider overrides this.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @return a number of samples
   * @throws DataException as {@link #open} does
   * @throws io.vertigrad.compute.settings.SettingsException with an option that is unknown or out
   *     of range
   */
  default long samples(DataConfig config, Split split) {
    return open(config, split).size();
  }

  /**
   * Returns what a model predicts for the samples, if that is known without opening a file.
   *
   * @param config the data section of a job file
   * @return classes, labels or values; empty if only the opened data set knows it
   * @throws io.vertigrad.compute.settings.SettingsException with an option that is wrong
   */
  default Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.empty();
  }

  /**
   * Reads samples to predict from a file with the same layout as this data set's files. Targets may
   * be missing there, because they are not read.
   *
   * @param config the data section of the job that trained the model
   * @param file the samples
   * @param shape shape of one sample of the model's input
   * @return the samples, in the file's order
   * @throws DataException when the file cannot be read, or this data set cannot read such files
   * @throws io.vertigrad.compute.settings.SettingsException with an option that is unknown or out
   *     of range
   */
  default Dataset unlabelled(DataConfig config, Path file, List<Integer> shape) {
    throw new DataException(
        "%s: the data set '%s' reads no samples from a file that a model is asked about, expected a model of images, csv or text"
            .formatted(file, name()));
  }

  /**
   * Reads one sample to predict from a line of text, as in this data set's files.
   *
   * @param config the data section of the job that trained the model
   * @param line the sample, with unprepared values
   * @param shape shape of one sample of the model's input
   * @return one sample
   * @throws DataException when the line holds something else, or this data set has no lines
   */
  default Dataset unlabelled(DataConfig config, String line, List<Integer> shape) {
    throw new DataException(
        "%s: there is no such file, and a model of the data set '%s' takes no line of values"
            .formatted(line, name()));
  }

  /**
   * Returns what turns samples with named values into a model's inputs, for programs that ask a
   * model.
   *
   * @param config the data section of the job that trained the model, with the values fitted in
   *     training
   * @param shape shape of one sample of the model's input
   * @return empty if samples of this data set have no named values
   * @throws io.vertigrad.compute.settings.SettingsException with an option that is wrong
   */
  default Optional<FieldReader> fields(DataConfig config, List<Integer> shape) {
    return Optional.empty();
  }

  /**
   * Returns what turns texts into ids of tokens, for programs that ask a model to continue a text.
   *
   * @param config the data section of the job that trained the model
   * @return empty if features are not ids of tokens
   * @throws DataException when a file that it takes cannot be read
   * @throws io.vertigrad.compute.settings.SettingsException with an option that is wrong
   */
  default Optional<Tokenizer> tokenizer(DataConfig config) {
    return Optional.empty();
  }

  /**
   * Returns the number of classes, if it is the same for every sample file.
   *
   * @param config the data section of a job file
   * @return empty if only the opened data set knows it, or its samples have no class each
   */
  default OptionalInt classes(DataConfig config) {
    return OptionalInt.empty();
  }

  /**
   * Returns the names of the classes, as {@link Dataset#classNames} does; opens no more than
   * necessary.
   *
   * @param config the data section of a job file
   * @return the names by class; empty if classes are only numbers
   * @throws DataException as {@link #open} does
   */
  default List<String> classNames(DataConfig config) {
    return List.of();
  }

  /**
   * Returns the labels or real values that a model predicts, by name, with the units of values.
   *
   * @param config the data section of a job, with the values fitted in training
   * @return as many as a model has outputs; empty if it predicts classes, or targets have no names
   */
  default List<TargetColumn> targetColumns(DataConfig config) {
    return List.of();
  }

  /**
   * Describes what a model is to predict from what, for a person to check before training.
   *
   * @param config the data section of a job file
   * @param opened one of its splits
   * @return such as {@code label "species" (column 5), 4 inputs, 3 classes: a, b, c}
   */
  default String describe(DataConfig config, Dataset opened) {
    List<Integer> shape = opened.shape();
    int inputs = shape.stream().reduce(1, Math::multiplyExact);
    List<String> names = opened.classNames();
    String shown =
        names.isEmpty()
            ? ""
            : names.stream().limit(MOST_CLASSES_SHOWN).collect(Collectors.joining(", ", ": ", ""))
                + (names.size() > MOST_CLASSES_SHOWN ? ", ..." : "");
    String read =
        opened.tokens() > 0
            ? String.format(Locale.ROOT, "windows of %,d tokens", inputs)
            : shape.size() > 1
                ? "inputs " + shape.stream().map(String::valueOf).collect(Collectors.joining("x"))
                : String.format(Locale.ROOT, "%,d inputs", inputs);
    String kind = opened.targets().kind().text();
    return String.format(Locale.ROOT, "%s, %,d %s%s", read, opened.classes(), kind, shown);
  }

  /**
   * Looks for probable mistakes in training samples that are not errors, without reading all
   * samples.
   *
   * @param config the data section of a job file
   * @return one sentence each; empty if nothing was found
   * @throws DataException as {@link #open} does
   */
  default List<String> warnings(DataConfig config) {
    return List.of();
  }

  /**
   * Returns the values of a job file that this data set chooses where the file leaves them out, for
   * example an optimizer that suits it.
   *
   * @param file the job file, whose values are not checked yet
   * @return sections of a job file; empty if the usual defaults apply
   */
  default JsonObject defaults(JsonObject file) {
    return new JsonObject();
  }

  /**
   * Reads the keys that are not the same for all members and for the whole run, each with its
   * {@link io.vertigrad.compute.settings.KeyTrait}s: {@code data.with(LOCAL, CHANGEABLE)
   * .has("file")} for a path. Members agree on all other keys, and a resumed run keeps them.
   *
   * @param data the data section of a job file, whose values are not checked yet
   */
  default void scopes(Settings data) {}

  /**
   * Returns the number of samples after which the data end, if they are read only once.
   *
   * @param config the data section of a job file
   * @return empty if training may go on for as many passes as it likes, or the data have no end
   * @throws DataException as {@link #open} does
   */
  default OptionalLong length(DataConfig config) {
    return OptionalLong.empty();
  }

  /**
   * Adds to a model what this data set keeps in it, such as statistics by which samples are
   * normalised. The model that is returned is used and closed instead of the given one.
   *
   * @param config the data section of a job file, for a saved model with its {@linkplain
   *     DataConfig#fitted fitted} values
   * @param model a model of the samples' shape and targets
   * @return the model itself, unless a provider overrides this
   */
  default Model adapt(DataConfig config, Model model) {
    return model;
  }

  /**
   * Returns what members of a job compare to find out whether they have the same samples, and a
   * resumed run to find out whether it has those that it was trained on. All samples are read for
   * it, unless that takes long. A provider whose samples differ from one reading to the next
   * returns none.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @param opened the samples, which this provider has opened
   * @return empty if nothing is to be compared, as for a stream, or where each machine has samples
   *     of its own
   * @throws DataException when a file cannot be read
   */
  default Optional<DataFingerprint> fingerprint(DataConfig config, Split split, Dataset opened) {
    return opened instanceof StreamDataset
        ? Optional.empty()
        : Optional.of(DataFingerprint.of(opened));
  }

  /** A part of a data set. */
  enum Split {
    /** The samples that are trained on. */
    TRAIN("trainingData"),
    /** The samples that the model is tested on. */
    TEST("testData");

    private final String fingerprint;

    Split(String fingerprint) {
      this.fingerprint = fingerprint;
    }

    /**
     * Returns what the fingerprint of these samples is called among those of a job.
     *
     * @return a name in job files and messages
     */
    public String fingerprint() {
      return fingerprint;
    }
  }

  /**
   * Opens a split of the data set that {@code config} names; everything in this JVM shares one
   * copy.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @param loader class loader that finds providers
   * @return the samples
   */
  static Dataset open(DataConfig config, Split split, ClassLoader loader) {
    return OpenDatasets.SHARED.open(config, split, loader, () -> load(config, split, loader));
  }

  /**
   * Returns the fingerprint of a split of the data set that {@code config} names. The split is
   * opened unless it is in use; its fingerprint is made once while it is.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @param loader class loader that finds providers
   * @return empty if the provider gives none
   */
  static Optional<DataFingerprint> fingerprint(DataConfig config, Split split, ClassLoader loader) {
    return OpenDatasets.SHARED.fingerprint(
        config,
        split,
        loader,
        () -> load(config, split, loader),
        opened ->
            call(config, loader, "its fingerprint", p -> p.fingerprint(config, split, opened)));
  }

  /**
   * Checks that the files of the data set that {@code config} names exist.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @param loader class loader that finds providers
   */
  static void check(DataConfig config, Split split, ClassLoader loader) {
    call(
        config,
        loader,
        "its check",
        provider -> {
          provider.check(config, split);
          return null;
        });
  }

  /**
   * Returns the number of samples of a split of the data set that {@code config} names.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @param loader class loader that finds providers
   * @return a number of samples
   */
  static long samples(DataConfig config, Split split, ClassLoader loader) {
    return call(config, loader, "the count of its samples", p -> p.samples(config, split));
  }

  /**
   * Returns what a model predicts for the samples of the data set that {@code config} names; opens
   * the split unless its provider knows it without.
   *
   * @param config the data section of a job file
   * @param split training or test set, which must exist
   * @param loader class loader that finds providers
   * @return classes, labels or values
   */
  static Targets.Kind targets(DataConfig config, Split split, ClassLoader loader) {
    return find(config, loader)
        .targets(config)
        .orElseGet(() -> open(config, split, loader).targets().kind());
  }

  /**
   * Reads samples to predict from a file, with the data set that {@code config} names.
   *
   * @param config the data section of the job that trained the model
   * @param file the samples
   * @param shape shape of one sample of the model's input
   * @param loader class loader that finds providers
   * @return the samples, in the file's order
   */
  static Dataset unlabelled(DataConfig config, Path file, List<Integer> shape, ClassLoader loader) {
    return find(config, loader).unlabelled(config, file, shape);
  }

  /**
   * Reads one sample to predict from a line of text.
   *
   * @param config the data section of the job that trained the model
   * @param line the sample
   * @param shape shape of one sample of the model's input
   * @param loader class loader that finds providers
   * @return one sample
   */
  static Dataset unlabelled(
      DataConfig config, String line, List<Integer> shape, ClassLoader loader) {
    return find(config, loader).unlabelled(config, line, shape);
  }

  /**
   * Returns what turns samples with named values into inputs of a model that was trained on the
   * data set that {@code config} names.
   *
   * @param config the data section of the job that trained the model, with the values fitted in
   *     training
   * @param shape shape of one sample of the model's input
   * @param loader class loader that finds providers
   * @return empty if samples of this data set have no named values
   */
  static Optional<FieldReader> fields(DataConfig config, List<Integer> shape, ClassLoader loader) {
    return find(config, loader).fields(config, shape);
  }

  /**
   * Returns what turns texts into ids of tokens of the data set that {@code config} names.
   *
   * @param config the data section of the job that trained the model
   * @param loader class loader that finds providers
   * @return empty if features are not ids of tokens
   */
  static Optional<Tokenizer> tokenizer(DataConfig config, ClassLoader loader) {
    return find(config, loader).tokenizer(config);
  }

  /**
   * Returns the number of classes of the data set that {@code config} names, without opening it.
   *
   * @param config the data section of a job file
   * @param loader class loader that finds providers
   * @return empty if only the opened data set knows it, or there is no such data set
   */
  static OptionalInt classes(DataConfig config, ClassLoader loader) {
    return registered(config.name(), loader)
        .map(provider -> provider.classes(config))
        .orElseGet(OptionalInt::empty);
  }

  /**
   * Returns the names of the classes of the data set that {@code config} names.
   *
   * @param config the data section of a job file
   * @param loader class loader that finds providers
   * @return the names by class; empty if classes are only numbers
   */
  static List<String> classNames(DataConfig config, ClassLoader loader) {
    return find(config, loader).classNames(config);
  }

  /**
   * Describes what a model of the data set that {@code config} names is to predict from what.
   *
   * @param config the data section of a job file
   * @param opened one of its splits
   * @param loader class loader that finds providers
   * @return part of a sentence
   */
  static String describe(DataConfig config, Dataset opened, ClassLoader loader) {
    return find(config, loader).describe(config, opened);
  }

  /**
   * Returns the labels or real values that a model of the data set that {@code config} names
   * predicts.
   *
   * @param config the data section of a job, with the values fitted in training
   * @param loader class loader that finds providers
   * @return as many as a model has outputs; empty if it predicts classes, or targets have no names
   */
  static List<TargetColumn> targetColumns(DataConfig config, ClassLoader loader) {
    return find(config, loader).targetColumns(config);
  }

  /**
   * Looks for probable mistakes in the training samples of the data set that {@code config} names.
   *
   * @param config the data section of a job file
   * @param loader class loader that finds providers
   * @return one sentence each
   */
  static List<String> warnings(DataConfig config, ClassLoader loader) {
    return find(config, loader).warnings(config);
  }

  /**
   * Returns the values of a job file that a data set chooses where the file leaves them out.
   *
   * @param name name of the data set
   * @param file the job file, whose values are not checked yet
   * @param loader class loader that finds providers
   * @return sections of a job file; empty if there is no such data set
   */
  static JsonObject defaults(String name, JsonObject file, ClassLoader loader) {
    return registered(name, loader)
        .map(provider -> provider.defaults(file))
        .orElseGet(JsonObject::new);
  }

  /**
   * Reads the keys of a data set that have a scope of their own; none if there is no such data set.
   *
   * @param name name of the data set
   * @param data the data section of a job file
   * @param loader class loader that finds providers
   */
  static void scopes(String name, Settings data, ClassLoader loader) {
    registered(name, loader).ifPresent(provider -> provider.scopes(data));
  }

  private static Optional<DatasetProvider> registered(String name, ClassLoader loader) {
    return ServiceLoader.load(DatasetProvider.class, loader).stream()
        .map(ServiceLoader.Provider::get)
        .filter(provider -> provider.name().equals(name))
        .findFirst();
  }

  /**
   * Returns the number of samples after which the data that {@code config} names end.
   *
   * @param config the data section of a job file
   * @param loader class loader that finds providers
   * @return empty if they do not end
   */
  static OptionalLong length(DataConfig config, ClassLoader loader) {
    return find(config, loader).length(config);
  }

  /**
   * Adds to a model what the data set that {@code config} names keeps in it.
   *
   * @param config the data section of a job file
   * @param model a model of the samples' shape and targets
   * @param loader class loader that finds providers
   * @return the model to use instead
   */
  static Model adapt(DataConfig config, Model model, ClassLoader loader) {
    return find(config, loader).adapt(config, model);
  }

  private static Dataset load(DataConfig config, Split split, ClassLoader loader) {
    return call(config, loader, "its creation", provider -> provider.open(config, split));
  }

  private static <T> T call(
      DataConfig config, ClassLoader loader, String where, Function<DatasetProvider, T> code) {
    return MissingClass.named(
        "data set " + config.name(),
        () ->
            ComponentException.call(
                "data set \"%s\"".formatted(config.name()),
                where,
                () -> code.apply(find(config, loader))));
  }

  private static DatasetProvider find(DataConfig config, ClassLoader loader) {
    String name = config.name();
    String place = config.origin().isEmpty() ? "" : config.origin() + ": data.name: ";
    Map<String, DatasetProvider> registered = new LinkedHashMap<>();
    ServiceLoader.load(DatasetProvider.class, loader).forEach(p -> registered.put(p.name(), p));
    return Optional.ofNullable(registered.get(name))
        .or(() -> named(place, name, loader))
        .orElseThrow(
            () ->
                new DataException(
                    place
                        + "data set '%s' is not known, expected one of: %s, or the class name of a %s"
                            .formatted(
                                name,
                                String.join(", ", registered.keySet()),
                                DatasetProvider.class.getSimpleName())
                        + NamedClass.hint(name)));
  }

  private static Optional<DatasetProvider> named(String place, String name, ClassLoader loader) {
    try {
      return NamedClass.instance(name, DatasetProvider.class, loader);
    } catch (IllegalArgumentException unusable) {
      throw new IllegalArgumentException(place + unusable.getMessage(), unusable);
    }
  }
}
