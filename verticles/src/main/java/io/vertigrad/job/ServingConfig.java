package io.vertigrad.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * The predictors of a job, which answer with its newest parameters.
 *
 * @param count number of predictors that are started with the job; 0 for none, 1 by default if
 *     there is a port for HTTP
 * @param file file of a finished model that predictors hold instead of following the job
 * @param guard largest amount by which the evaluator's last test may be worse than the best one, in
 *     percentage points of accuracy, or in percent of the loss for models without accuracy; empty
 *     to serve every version
 * @param refreshMillis least time between two reads of the newest parameters, in milliseconds
 * @param maxBatch largest number of samples of one forward pass
 * @param maxWaitMicros how long a request waits for others that join its forward pass, in
 *     microseconds
 * @param queue largest number of samples that wait, unless they are one request; further ones are
 *     refused
 * @param http where predictors listen for HTTP
 */
public record ServingConfig(
    int count,
    Optional<Path> file,
    OptionalDouble guard,
    int refreshMillis,
    int maxBatch,
    int maxWaitMicros,
    int queue,
    Http http) {

  /**
   * Where predictors listen for HTTP.
   *
   * @param host address that they listen on; loopback unless set
   * @param hosts further names by which they may be asked, as for the page
   * @param port their port, or 0 for a free one; empty for no HTTP
   * @param maxBytes largest body of a request
   * @param certificate PEM file of the server's certificate chain, for TLS
   * @param key PEM file of its private key
   * @param authority PEM file of the authority that signed the clients' certificates; empty if
   *     clients need none
   * @param insecure allow a host other than loopback without TLS
   */
  public record Http(
      String host,
      List<String> hosts,
      OptionalInt port,
      int maxBytes,
      Optional<String> certificate,
      Optional<String> key,
      Optional<String> authority,
      boolean insecure) {

    /**
     * Returns whether the server has a certificate.
     *
     * @return true for HTTPS
     */
    public boolean tls() {
      return certificate.isPresent();
    }
  }

  static ServingConfig read(Settings section) {
    Settings local = section.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE, KeyTrait.NOT_PASSED);
    Http http =
        new Http(
            ClusterConfig.host(section),
            ClusterConfig.hosts(section),
            section.has("port")
                ? OptionalInt.of(section.integer("port", 0, 0, 65_535))
                : OptionalInt.empty(),
            section.integer("maxBytes", 8 << 20, 1 << 10, 1 << 30),
            local.optionalString("certificate"),
            local.optionalString("key"),
            local.optionalString("authority"),
            section.flag("insecure", false));
    if (http.certificate().isPresent() != http.key().isPresent()) {
      throw section.refuse(
          http.tls() ? "certificate" : "key",
          "is given without the other, expected both certificate and key, or neither");
    }
    if (http.authority().isPresent() && !http.tls()) {
      throw section.refuse("authority", "is given without certificate and key, expected all three");
    }
    double most = Double.MAX_VALUE;
    ServingConfig config =
        new ServingConfig(
            section.integer("count", http.port().isPresent() ? 1 : 0, 0, 64),
            local.path("file"),
            section.has("guard")
                ? OptionalDouble.of(section.number("guard", 0, 0, most))
                : OptionalDouble.empty(),
            section.integer("refreshMillis", 200, 1, 3_600_000),
            section.integer("maxBatch", 32, 1, 4_096),
            section.integer("maxWaitMicros", 0, 0, 1_000_000),
            section.integer("queue", 64, 1, 1_000_000),
            http);
    section.refuseUnknown();
    return config;
  }
}
