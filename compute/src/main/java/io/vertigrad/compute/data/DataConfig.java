package io.vertigrad.compute.data;

import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Which samples to train and to test on.
 *
 * @param name {@code digits} or {@code shapes} (generated), {@code mnist}, {@code cifar10}, {@code
 *     csv}, or another registered data set
 * @param directory where its files lie; empty for generated data
 * @param download where missing files may be fetched from; empty unless the user asked
 * @param options further settings of that data set, such as {@code train} and {@code test} counts
 *     and {@code seed} of the generated ones, and {@code augmentation}
 */
public record DataConfig(
    String name, Optional<Path> directory, Optional<URI> download, Map<String, Object> options) {

  public DataConfig {
    options = Map.copyOf(options);
  }

  /**
   * The options, to be read key by key; errors name the data set.
   *
   * @return the section of the options
   */
  public Settings settings() {
    return Settings.of("data set '%s'".formatted(name), new JsonObject(options));
  }
}
