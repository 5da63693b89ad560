package io.vertigrad.launcher.job;

import io.vertx.config.ConfigRetriever;
import io.vertx.config.ConfigRetrieverOptions;
import io.vertx.config.ConfigStoreOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A job file as it was written, JSON or YAML, not yet checked.
 *
 * @param origin how errors name it
 * @param json its content
 */
public record JobFile(String origin, JsonObject json) {

  /** Trained when no file is named: in seconds, with nothing but this machine. */
  public static final String DEFAULT = "conf/digits-sync.json";

  /**
   * Reads a file, or the built-in one of that name where there is no such file.
   *
   * @return fails with an {@link InputException} that names file, line and column
   */
  public static Future<JobFile> read(Vertx vertx, String name) {
    try {
      ConfigStoreOptions store =
          new ConfigStoreOptions()
              .setType("file")
              .setFormat(format(name))
              .setConfig(new JsonObject().put("path", located(name)));
      ConfigRetrieverOptions options =
          new ConfigRetrieverOptions()
              .setIncludeDefaultStores(false)
              .setScanPeriod(-1)
              .addStore(store);
      return ConfigRetriever.create(vertx, options)
          .getConfig()
          .map(json -> new JobFile(name, json))
          .recover(error -> Future.failedFuture(SyntaxError.describe(name, error)));
    } catch (InputException e) {
      return Future.failedFuture(e);
    }
  }

  private static String located(String name) {
    Path path = Path.of(name);
    if (Files.isDirectory(path)) {
      throw new InputException(
          "%s: is a folder, expected a job file, such as %s".formatted(name, DEFAULT));
    }
    if (Files.exists(path)) {
      if (!Files.isReadable(path)) {
        throw new InputException(name + ": may not be read; check its permissions");
      }
      return path.toAbsolutePath().toString();
    }
    if (JobFile.class.getClassLoader().getResource(name) == null) {
      throw new InputException(
          "%s: there is no such job file in %s, nor a built-in one of that name; try %s"
              .formatted(name, Path.of("").toAbsolutePath(), DEFAULT));
    }
    return name;
  }

  private static String format(String name) {
    if (name.endsWith(".json")) {
      return "json";
    }
    if (name.endsWith(".yaml") || name.endsWith(".yml")) {
      return "yaml";
    }
    throw new InputException(
        "%s: is not named like a job file, expected a name that ends in .json, .yaml or .yml"
            .formatted(name));
  }
}
