package io.vertigrad.launcher.job;

import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.config.ConfigRetriever;
import io.vertx.config.ConfigRetrieverOptions;
import io.vertx.config.ConfigStoreOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.net.http.HttpResponse.ResponseInfo;
import java.net.http.HttpTimeoutException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

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
    return text.regionMatches(true, 0, "http://", 0, 7)
        || text.regionMatches(true, 0, "https://", 0, 8);
  }

  /**
   * Reads a file, or the built-in file of that name when there is no such file.
   *
   * @param name path of a file, name of a built-in one, or URL
   * @return fails with an exception that names file, line and column
   */
  public static Future<JobFile> read(Vertx vertx, String name) {
    return read(vertx, name, Optional::empty);
  }

  /**
   * Reads a file as {@link #read(Vertx, String)}.
   *
   * @param authority PEM file with an authority's certificate, which a server of https may have
   *     besides those that Java knows; asked for only then
   */
  static Future<JobFile> read(Vertx vertx, String name, Supplier<Optional<String>> authority) {
    try {
      Function<String, JsonObject> reader = reader(name);
      if (isUrl(name)) {
        return fetch(name, reader, authority);
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

  /**
   * Fetches a file with a limit on time and size; of redirects, all but those from https to http.
   */
  private static Future<JobFile> fetch(
      String url, Function<String, JsonObject> reader, Supplier<Optional<String>> authority) {
    try {
      URI address = URI.create(url);
      HttpClient.Builder client =
          HttpClient.newBuilder()
              .followRedirects(HttpClient.Redirect.NORMAL)
              .connectTimeout(Duration.ofMillis(FETCH_MILLIS));
      if (address.getScheme().equalsIgnoreCase("https")) {
        authority.get().ifPresent(file -> client.sslContext(trusting(Path.of(file))));
      }
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      return Future.fromCompletionStage(
              client
                  .build()
                  .sendAsync(HttpRequest.newBuilder(address).build(), answer -> into(body, answer))
                  .orTimeout(FETCH_MILLIS, TimeUnit.MILLISECONDS))
          .map(done -> new JobFile(url, reader.apply(JsonText.decode(url, body.toByteArray()))))
          .recover(error -> Future.failedFuture(refused(url, error)));
    } catch (RuntimeException e) {
      return Future.failedFuture(refused(url, e));
    }
  }

  private static BodySubscriber<Void> into(ByteArrayOutputStream body, ResponseInfo answer) {
    if (answer.statusCode() != 200) {
      throw new InputException("HTTP status " + answer.statusCode());
    }
    return BodySubscribers.ofByteArrayConsumer(
        part -> {
          body.writeBytes(part.orElse(new byte[0]));
          if (body.size() > JsonText.MOST_BYTES) {
            throw new InputException("more than %s bytes".formatted(JsonText.MOST_BYTES));
          }
        });
  }

  /** Returns what trusts the authorities of this machine, and those in a PEM file. */
  private static SSLContext trusting(Path authority) {
    try {
      InputStream pem = new ByteArrayInputStream(JsonText.bytes(authority));
      TrustManagerFactory usual = trust(null);
      KeyStore all = KeyStore.getInstance(KeyStore.getDefaultType());
      all.load(null, null);
      int number = 0;
      for (TrustManager manager : usual.getTrustManagers()) {
        for (X509Certificate known : ((X509TrustManager) manager).getAcceptedIssuers()) {
          all.setCertificateEntry("usual " + number++, known);
        }
      }
      for (Certificate own : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
        all.setCertificateEntry("own " + number++, own);
      }
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust(all).getTrustManagers(), null);
      return context;
    } catch (IOException | GeneralSecurityException e) {
      throw new InputException(
          "%s: is no authority's certificate: %s".formatted(authority, FailureReason.of(e)), e);
    }
  }

  private static TrustManagerFactory trust(KeyStore certificates) throws GeneralSecurityException {
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(certificates);
    return factory;
  }

  private static RuntimeException refused(String name, Throwable error) {
    return error instanceof SettingsException settings
        ? settings
        : new InputException("%s: cannot be read: %s".formatted(name, reason(error)), error);
  }

  /** Returns why a file was not read; some failures of connections have no message. */
  private static String reason(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof InputException known) {
        return known.getMessage();
      } else if (cause instanceof TimeoutException || cause instanceof HttpTimeoutException) {
        return "not complete within %s s".formatted(TimeUnit.MILLISECONDS.toSeconds(FETCH_MILLIS));
      } else if (cause instanceof UnresolvedAddressException) {
        return "this machine does not know the host's name";
      } else if (cause instanceof SSLException tls) {
        return "%s; expected a certificate of a known authority, or of the one in --tls DIR"
            .formatted(FailureReason.of(tls));
      }
    }
    boolean refused =
        Stream.iterate(error, Objects::nonNull, Throwable::getCause)
            .anyMatch(ConnectException.class::isInstance);
    return refused ? "nothing answers there" : FailureReason.of(error);
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
  /**
   * Returns what reads a file of that name. A schema that the file names for editors is left out:
   * its path is relative to this file, and the content goes into other files.
   */
  private static Function<String, JsonObject> reader(String name) {
    Function<String, JsonObject> parser = parser(name);
    return text -> {
      JsonObject json = parser.apply(text);
      json.remove("$schema");
      return json;
    };
  }

  private static Function<String, JsonObject> parser(String name) {
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
