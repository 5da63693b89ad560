package io.vertigrad.compute.data;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.settings.MissingClass;
import io.vertigrad.compute.settings.NamedClass;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;

/** Opens a data set by name; found through ServiceLoader, or by the name of its class. */
public interface DatasetProvider {

  /**
   * The name used in job files.
   *
   * @return one word
   */
  String name();

  /**
   * Opens one split.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @return the samples, to be read by any thread
   * @throws DataException naming the file, what was found and what is expected
   * @throws io.vertigrad.compute.settings.SettingsException naming an option that is unknown or out
   *     of range
   */
  Dataset open(DataConfig config, Split split);

  /**
   * Checks the options, and that a split's files are there, without reading them, so that a mistake
   * is found before anything else begins. Files that may be downloaded are not looked for.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @throws DataException as {@link #open} does
   * @throws io.vertigrad.compute.settings.SettingsException likewise
   */
  default void check(DataConfig config, Split split) {}

  /**
   * How many samples a split has; opens it unless a provider knows it without.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @return a number of samples
   * @throws DataException as {@link #open} does
   * @throws io.vertigrad.compute.settings.SettingsException likewise
   */
  default long samples(DataConfig config, Split split) {
    return open(config, split).size();
  }

  /**
   * What a model is to tell of the samples, where that is known without opening a file.
   *
   * @param config the data section of a job file
   * @return classes, labels or values; empty where only the opened data set tells
   * @throws io.vertigrad.compute.settings.SettingsException naming an option that is wrong
   */
  default Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.empty();
  }

  /**
   * Reads samples that a trained model is asked about from a file that is laid out as those of this
   * data set. What a model tells of them may be missing there: nobody asks for the samples'
   * targets.
   *
   * @param config the data section of the job that trained the model
   * @param file the samples
   * @param shape one sample's dimensions as the model takes them
   * @return the samples, in the file's order
   * @throws DataException when the file cannot be read, or this data set reads none alone
   * @throws io.vertigrad.compute.settings.SettingsException naming an option that is unknown or out
   *     of range
   */
  default Dataset unlabelled(DataConfig config, Path file, List<Integer> shape) {
    throw new DataException(
        "%s: the data set '%s' reads no samples from a file that a model is asked about, expected a model of images, csv or text"
            .formatted(file, name()));
  }

  /**
   * Reads a sample that a trained model is asked about from a line of text, as a line of this data
   * set's files holds it.
   *
   * @param config as above
   * @param line the sample, its values as they are before anything is done to them
   * @param shape one sample's dimensions as the model takes them
   * @return one sample
   * @throws DataException when the line holds something else, or this data set has no lines
   */
  default Dataset unlabelled(DataConfig config, String line, List<Integer> shape) {
    throw new DataException(
        "%s: there is no such file, and a model of the data set '%s' takes no line of values"
            .formatted(line, name()));
  }

  /**
   * Names of the classes, by class, as {@link Dataset#classNames} has them; opens no more than it
   * needs.
   *
   * @param config the data section of a job file
   * @return empty where a class is only a number
   * @throws DataException as {@link #open} does
   */
  default List<String> classNames(DataConfig config) {
    return List.of();
  }

  /**
   * Looks for mistakes in training samples that are no errors, without reading all of them.
   *
   * @param config the data section of a job file
   * @return one sentence each; empty where nothing is strange
   * @throws DataException as {@link #open} does
   */
  default List<String> warnings(DataConfig config) {
    return List.of();
  }

  /** Which half of a data set. */
  enum Split {
    /** The samples that are trained on. */
    TRAIN,
    /** The samples that the model is tested on. */
    TEST
  }

  /**
   * The split of the data set that {@code config} names; one copy is shared by all of this JVM.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @param loader where providers are looked for
   * @return the samples
   */
  static Dataset open(DataConfig config, Split split, ClassLoader loader) {
    return OpenDatasets.SHARED.open(config, split, loader, () -> load(config, split, loader));
  }

  /**
   * Checks that the files of the data set that {@code config} names are there.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @param loader where providers are looked for
   */
  static void check(DataConfig config, Split split, ClassLoader loader) {
    find(config, loader).check(config, split);
  }

  /**
   * How many samples the split has of the data set that {@code config} names.
   *
   * @param config the data section of a job file
   * @param split training or test set
   * @param loader where providers are looked for
   * @return a number of samples
   */
  static long samples(DataConfig config, Split split, ClassLoader loader) {
    return find(config, loader).samples(config, split);
  }

  /**
   * What a model is to tell of the samples of the data set that {@code config} names; opens the
   * split unless its provider knows it without.
   *
   * @param config the data section of a job file
   * @param split training or test set, which must be there
   * @param loader where providers are looked for
   * @return classes, labels or values
   */
  static Targets.Kind targets(DataConfig config, Split split, ClassLoader loader) {
    return find(config, loader)
        .targets(config)
        .orElseGet(() -> open(config, split, loader).targets().kind());
  }

  /**
   * Reads samples that a trained model is asked about, as the data set does that {@code config}
   * names.
   *
   * @param config the data section of the job that trained the model
   * @param file the samples
   * @param shape one sample's dimensions as the model takes them
   * @param loader where providers are looked for
   * @return the samples, in the file's order
   */
  static Dataset unlabelled(DataConfig config, Path file, List<Integer> shape, ClassLoader loader) {
    return find(config, loader).unlabelled(config, file, shape);
  }

  /**
   * Reads a sample that a trained model is asked about from a line of text.
   *
   * @param config the data section of the job that trained the model
   * @param line the sample
   * @param shape one sample's dimensions as the model takes them
   * @param loader where providers are looked for
   * @return one sample
   */
  static Dataset unlabelled(
      DataConfig config, String line, List<Integer> shape, ClassLoader loader) {
    return find(config, loader).unlabelled(config, line, shape);
  }

  /**
   * Names of the classes of the data set that {@code config} names.
   *
   * @param config the data section of a job file
   * @param loader where providers are looked for
   * @return by class; empty where a class is only a number
   */
  static List<String> classNames(DataConfig config, ClassLoader loader) {
    return find(config, loader).classNames(config);
  }

  /**
   * Looks for mistakes in the training samples of the data set that {@code config} names.
   *
   * @param config the data section of a job file
   * @param loader where providers are looked for
   * @return one sentence each
   */
  static List<String> warnings(DataConfig config, ClassLoader loader) {
    return find(config, loader).warnings(config);
  }

  private static Dataset load(DataConfig config, Split split, ClassLoader loader) {
    return MissingClass.named(
        "data set " + config.name(), () -> find(config, loader).open(config, split));
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
