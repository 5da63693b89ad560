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
 * Which samples to train and to test on.
 *
 * @param name {@code digits} or {@code shapes} (generated), {@code mnist}, {@code cifar10}, {@code
 *     csv}, or another registered data set
 * @param directory where its files lie; empty for generated data
 * @param download where missing files may be fetched from; empty unless the user asked
 * @param options further settings of that data set, such as {@code train} and {@code test} counts
 *     and {@code seed} of the generated ones, and {@code augmentation}; one that is null counts as
 *     absent
 * @param origin how errors name the job file whose section {@code data} this is; empty for none
 * @param fitted what {@link Dataset#fitted} was of the samples that a saved model was trained on;
 *     empty for a data set that is opened to train on
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
   * A data set that a job file asks for.
   *
   * @param name of the data set
   * @param directory where its files lie
   * @param download where missing files may be fetched from
   * @param options further settings
   * @param origin how errors name the job file
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
   * A data set that no job file asks for.
   *
   * @param name of the data set
   * @param directory where its files lie
   * @param download where missing files may be fetched from
   * @param options further settings
   */
  public DataConfig(
      String name, Optional<Path> directory, Optional<URI> download, Map<String, Object> options) {
    this(name, directory, download, options, "");
  }

  /**
   * The options, to be read key by key; errors name the job file and the key's place in it, or the
   * data set where there is no job file.
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
   * The same samples, prepared for a saved model.
   *
   * @param values what was fitted to the samples that it was trained on
   * @return a configuration that providers prepare samples by
   */
  public DataConfig fitted(Map<String, Object> values) {
    return new DataConfig(name, directory, download, options, origin, values);
  }

  /** The same samples, whatever file asks for them. */
  DataConfig withoutOrigin() {
    return new DataConfig(name, directory, download, options, "", fitted);
  }
}
