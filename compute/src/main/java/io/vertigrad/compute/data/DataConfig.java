package io.vertigrad.compute.data;

import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * Which samples to train and to test on.
 *
 * @param name {@code digits} (generated), {@code mnist}, {@code csv}, or a registered data set
 * @param directory where its files lie; empty for generated data
 * @param download where missing files may be fetched from; empty unless the user asked
 * @param options further settings of that data set, such as {@code train} and {@code test} counts
 *     and {@code seed} of the generated digits
 */
public record DataConfig(
    String name, Optional<Path> directory, Optional<URI> download, Map<String, Object> options) {

  public DataConfig {
    options = Map.copyOf(options);
  }
}
