package io.vertigrad.launcher.job;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.config.ConfigRetriever;
import io.vertx.config.ConfigRetrieverOptions;
import io.vertx.config.ConfigStoreOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * A job file as it was written, JSON or YAML, not yet checked.
 *
 * @param origin the file's name in error messages
 * @param json its content
 */
public record JobFile(String origin, JsonObject json) {

  /**
   * The job that is trained when no file is named; it takes seconds and needs only this machine.
   */
  public static final String DEFAULT = "conf/digits-sync.json";

  private static final String BYTES = "bytes";
  private static final Pattern FORMATS = Pattern.compile("\\.(json|ya?ml)$");
  private static final long FETCH_MILLIS = 20_000;

  /** Returns true for the name or URL of a job file, false for an address of a running job. */
  public static boolean isName(String text) {
    return isUrl(text) || FORMATS.matcher(text).find();
  }

  /** Returns true for a URL. */
  public static boolean isUrl(String text) {
    return text.startsWith("http://") || text.startsWith("https://");
  }

  /**
   * Reads a file, or the built-in file of that name when there is no such file.
   *
   * @param name path of a file, name of a built-in one, or URL
   * @return fails with an exception that names file, line and column
   */
  public static Future<JobFile> read(Vertx vertx, String name) {
    try {
      Function<String, JsonObject> reader = reader(name);
      if (isUrl(name)) {
        return fetch(vertx, name, reader);
      }
      ConfigStoreOptions store =
          new ConfigStoreOptions()
              .setType("file")
              .setFormat("raw")
              .setConfig(
                  new JsonObject()
                      .put("path", located(name))
                      .put("raw.key", BYTES)
                      .put("raw.type", "binary"));
      ConfigRetrieverOptions options =
          new ConfigRetrieverOptions()
              .setIncludeDefaultStores(false)
              .setScanPeriod(-1)
              .addStore(store);
      return ConfigRetriever.create(vertx, options)
          .getConfig()
          .map(
              file -> new JobFile(name, reader.apply(JsonText.decode(name, file.getBinary(BYTES)))))
          .recover(error -> Future.failedFuture(refused(name, error)));
    } catch (InputException e) {
      return Future.failedFuture(e);
    }
  }

  private static Future<JobFile> fetch(
      Vertx vertx, String url, Function<String, JsonObject> reader) {
    RequestOptions request =
        new RequestOptions().setAbsoluteURI(url).setFollowRedirects(true).setTimeout(FETCH_MILLIS);
    // Vert.x closes a client that nothing refers to any more.
    HttpClient client = vertx.createHttpClient();
    return client
        .request(request)
        .compose(HttpClientRequest::send)
        .compose(JobFile::body)
        .map(body -> new JobFile(url, reader.apply(JsonText.decode(url, body.getBytes()))))
        .eventually(client::close)
        .recover(error -> Future.failedFuture(refused(url, error)));
  }

  private static Future<Buffer> body(HttpClientResponse answer) {
    if (answer.statusCode() != 200) {
      return Future.failedFuture("HTTP status " + answer.statusCode());
    }
    Promise<Buffer> body = Promise.promise();
    Buffer all = Buffer.buffer();
    answer
        .exceptionHandler(body::tryFail)
        .endHandler(end -> body.tryComplete(all))
        .handler(
            part -> {
              if (all.length() + part.length() <= JsonText.MOST_BYTES) {
                all.appendBuffer(part);
              } else if (body.tryFail("more than %s bytes".formatted(JsonText.MOST_BYTES))) {
                answer.request().connection().close();
              }
            });
    return body.future();
  }

  private static RuntimeException refused(String name, Throwable error) {
    return error instanceof SettingsException settings
        ? settings
        : new InputException("%s: cannot be read: %s".formatted(name, error.getMessage()), error);
  }

  private static String located(String name) {
    Path path = path(name);
    if (Files.isDirectory(path)) {
      throw new InputException(
          "%s: is a folder, expected a job file, such as %s".formatted(name, DEFAULT));
    }
    if (Files.exists(path)) {
      if (!Files.isRegularFile(path)) {
        throw new InputException(
            "%s: is not a file, expected a job file, such as %s".formatted(name, DEFAULT));
      }
      if (path.toFile().length() > JsonText.MOST_BYTES) {
        throw new InputException(
            "%s: has %s bytes, expected a job file of at most %s"
                .formatted(name, path.toFile().length(), JsonText.MOST_BYTES));
      }
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

  private static Path path(String name) {
    try {
      return Path.of(name);
    } catch (InvalidPathException e) {
      throw new InputException("%s: is not a path: %s".formatted(name, e.getReason()), e);
    }
  }

  /**
   * Returns a strict reader. Vert.x's own readers keep the last of two equal keys and follow
   * cycles.
   */
  private static Function<String, JsonObject> reader(String name) {
    String path = isUrl(name) ? name.replaceFirst("[?#].*", "") : name;
    if (path.endsWith(".json")) {
      return text -> JsonText.object(name, text);
    }
    if (path.endsWith(".yaml") || path.endsWith(".yml")) {
      return text -> YamlText.object(name, text);
    }
    throw new InputException(
        "%s: is not named like a job file, expected a name that ends in .json, .yaml or .yml"
            .formatted(name));
  }
}
