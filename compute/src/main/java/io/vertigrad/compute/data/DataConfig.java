package io.vertigrad.compute.data;

import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The data section of a job file: which samples to train and to test on.
 *
 * @param name {@code digits} or {@code shapes} (generated), {@code mnist}, {@code cifar10}, {@code
 *     csv}, or another registered data set
 * @param directory folder of its files; empty for generated data
 * @param download address from which missing files may be fetched; empty unless the user asked for
 *     it
 * @param options further settings of that data set, such as {@code train} and {@code test} counts
 *     and {@code seed} of the generated ones, and {@code augmentation}; null counts as absent
 * @param origin name of the job file in errors; empty for none
 * @param fitted the {@link Dataset#fitted} values of the samples that a saved model was trained on;
 *     empty for a data set that is opened for training
 */
public record DataConfig(
    String name,
    Optional<Path> directory,
    Optional<URI> download,
    Map<String, Object> options,
    String origin,
    Map<String, Object> fitted) {

  public DataConfig {
    options = Collections.unmodifiableMap(new TreeMap<>(options));
    fitted = Collections.unmodifiableMap(new TreeMap<>(fitted));
  }

  /**
   * Creates the configuration of a data set for a job file.
   *
   * @param name name of the data set
   * @param directory folder of its files
   * @param download address from which missing files may be fetched
   * @param options further settings
   * @param origin name of the job file in errors
   */
  public DataConfig(
      String name,
      Optional<Path> directory,
      Optional<URI> download,
      Map<String, Object> options,
      String origin) {
    this(name, directory, download, options, origin, Map.of());
  }

  /**
   * Creates the configuration of a data set without a job file.
   *
   * @param name name of the data set
   * @param directory folder of its files
   * @param download address from which missing files may be fetched
   * @param options further settings
   */
  public DataConfig(
      String name, Optional<Path> directory, Optional<URI> download, Map<String, Object> options) {
    this(name, directory, download, options, "");
  }

  /**
   * Returns the options, to be read key by key. Errors name the job file and the key's place in it,
   * or the data set if there is no job file.
   *
   * @return the section of the options
   */
  public Settings settings() {
    JsonObject values = new JsonObject(new TreeMap<>(options));
    return origin.isEmpty()
        ? Settings.of("data set '%s'".formatted(name), values)
        : Settings.at(origin, "data", values);
  }

  /**
   * Returns the configuration of the same samples, prepared for a saved model.
   *
   * @param values the values fitted to the samples that the model was trained on
   * @return a configuration by which providers prepare samples
   */
  public DataConfig fitted(Map<String, Object> values) {
    return new DataConfig(name, directory, download, options, origin, values);
  }

  /** Returns the same configuration without the name of the job file, to compare it with others. */
  DataConfig withoutOrigin() {
    return new DataConfig(name, directory, download, options, "", fitted);
  }
}
