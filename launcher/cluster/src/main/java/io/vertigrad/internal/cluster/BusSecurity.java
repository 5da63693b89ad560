package io.vertigrad.internal.cluster;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/**
 * Checks and applies what the event bus requires from its peers, because its port has no
 * protection.
 */
public final class BusSecurity {

  private BusSecurity() {}

  /**
   * Refuses settings that would open a port to any machine, or tell others an address of no
   * machine.
   *
   * @throws SettingsException with what to do
   */
  public static void check(ClusterConfig config) {
    checkFiles(config);
    NodeCertificate.requireTimely(config);
    if (address(config.host()).isAnyLocalAddress()) {
      throw new SettingsException(
          "cluster.host %s is every address of this machine, expected the one that other machines reach: set it, or auto"
              .formatted(config.host()));
    }
    if (!loopback(config.host()) && !config.mutualTls() && !config.insecure()) {
      throw new SettingsException(
          "cluster.host %s can be reached from other machines and cluster.certificate, cluster.key"
                  .formatted(config.host())
              + " and cluster.authority are not set; make certificates as docs/guide/operations.md says,"
              + " or accept that anyone on that network can take over with --insecure");
    }
  }

  /**
   * Refuses files that are missing.
   *
   * @throws SettingsException with what to do
   */
  static void checkFiles(ClusterConfig config) {
    List<String> given = given(config);
    if (!given.isEmpty() && !config.mutualTls()) {
      throw new SettingsException(
          "cluster: %s given, expected certificate, key and authority together; see %s"
              .formatted(
                  String.join(" and ", given) + (given.size() == 1 ? " is" : " are"),
                  "docs/guide/operations.md"));
    }
    config.certificate().ifPresent(file -> readable("certificate", file));
    config.key().ifPresent(file -> readable("key", file));
    config.authority().ifPresent(file -> readable("authority", file));
  }

  /**
   * Sets TLS with a certificate required from both ends; does nothing when the job file names none.
   */
  public static void apply(ClusterConfig config, EventBusOptions bus) {
    if (!config.mutualTls()) {
      return;
    }
    bus.setSsl(true)
        .setTrustAll(false)
        .setClientAuth(ClientAuth.REQUIRED)
        .setKeyCertOptions(
            new PemKeyCertOptions()
                .addCertPath(config.certificate().orElseThrow())
                .addKeyPath(config.key().orElseThrow()))
        .setTrustOptions(new PemTrustOptions().addCertPath(config.authority().orElseThrow()));
  }

  /**
   * Returns the same TLS settings for a port that is not part of Vert.x; empty when the job file
   * names no certificate.
   *
   * @param vertx reads the files
   * @throws SettingsException when one of the files cannot be used
   */
  static Optional<SSLContext> context(ClusterConfig config, Vertx vertx) {
    if (!config.mutualTls()) {
      return Optional.empty();
    }
    EventBusOptions bus = new EventBusOptions();
    apply(config, bus);
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(
          bus.getKeyCertOptions().getKeyManagerFactory(vertx).getKeyManagers(),
          bus.getTrustOptions().getTrustManagerFactory(vertx).getTrustManagers(),
          null);
      return Optional.of(context);
    } catch (Exception e) {
      throw new SettingsException(
          "cluster.certificate, cluster.key and cluster.authority cannot be used: "
              + e.getMessage(),
          e);
    }
  }

  static boolean loopback(String host) {
    return address(host).isLoopbackAddress();
  }

  private static InetAddress address(String host) {
    try {
      return InetAddress.getByName(host);
    } catch (UnknownHostException e) {
      throw new SettingsException(
          "cluster.host %s: no such machine is known here, expected an address of this machine"
              .formatted(host),
          e);
    }
  }

  private static List<String> given(ClusterConfig config) {
    return java.util.stream.Stream.of(
            config.certificate().map(file -> "certificate"),
            config.key().map(file -> "key"),
            config.authority().map(file -> "authority"))
        .flatMap(java.util.Optional::stream)
        .toList();
  }

  private static void readable(String key, String file) {
    if (!Files.isReadable(Path.of(file)) || Files.isDirectory(Path.of(file))) {
      throw new SettingsException(
          "cluster.%s: %s cannot be read, expected a PEM file; docs/guide/operations.md says how to make"
                  .formatted(key, file)
              + " one");
    }
  }
}
