package io.vertigrad.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import java.util.List;
import java.util.Optional;

/**
 * The addresses at which members listen, and how members authenticate each other.
 *
 * @param host address the event bus and Hazelcast bind to; loopback unless set
 * @param port Hazelcast's first port; the next free one is taken
 * @param members addresses of members to join, {@code HOST} or {@code HOST:PORT}
 * @param insecure allow a non-loopback host without mutual TLS
 * @param certificate PEM file of this node's certificate chain, for mutual TLS on the event bus
 * @param key PEM file of its private key
 * @param authority PEM file of the authority that signed every member's certificate
 * @param secretFile file with the job's {@linkplain JobSecret secret}
 * @param restarts how often {@code train --processes} restarts a member that it started
 */
public record ClusterConfig(
    String host,
    int port,
    List<String> members,
    boolean insecure,
    Optional<String> certificate,
    Optional<String> key,
    Optional<String> authority,
    Optional<String> secretFile,
    int restarts) {

  static ClusterConfig read(Settings section) {
    Settings local = section.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE);
    ClusterConfig config =
        new ClusterConfig(
            host(local),
            section.integer("port", 15_701, 1, 65_535),
            local.textList("members", List.of()),
            section.flag("insecure", false),
            Optional.ofNullable(local.string("certificate", null)),
            Optional.ofNullable(local.string("key", null)),
            Optional.ofNullable(local.string("authority", null)),
            Optional.ofNullable(local.string("secretFile", null)),
            section.integer("restarts", 3, 0, 1_000_000));
    section.refuseUnknown();
    return config;
  }

  /** Reads the address at which a section's port listens. */
  static String host(Settings section) {
    String host = section.string("host", "127.0.0.1");
    if (host.indexOf(':') >= 0) {
      throw section.refuse(
          "host",
          "is \"%s\", expected an IPv4 address or the name of a machine that has one, without a port; IPv6 is not supported"
              .formatted(host));
    }
    return host;
  }

  /**
   * Returns whether the event bus can authenticate its peers.
   *
   * @return true if certificate, key and authority are all given
   */
  public boolean mutualTls() {
    return certificate.isPresent() && key.isPresent() && authority.isPresent();
  }
}
