package io.vertigrad.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The addresses at which members listen, and how members authenticate each other.
 *
 * @param host address the event bus and Hazelcast bind to; loopback unless set or discovered
 * @param port Hazelcast's first port; the next free one is taken
 * @param discovery how a node finds the others: {@value #MEMBERS}, or another word or list that the
 *     cluster's start knows
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
    String discovery,
    List<String> members,
    boolean insecure,
    Optional<String> certificate,
    Optional<String> key,
    Optional<String> authority,
    Optional<String> secretFile,
    int restarts) {

  /** The discovery of a node that joins the members it is given, or starts a cluster. */
  public static final String MEMBERS = "members";

  private static final String LOOPBACK = "127.0.0.1";
  private static final Pattern HOST_NAME =
      Pattern.compile(
          "(\\*\\.)?[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*\\.?|[0-9a-fA-F:.]*:[0-9a-fA-F:.]+");

  static ClusterConfig read(Settings section) {
    Settings local = section.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE);
    Settings joining = section.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE, KeyTrait.NOT_PASSED);
    String discovery = section.string("discovery", MEMBERS);
    String host = host(section, discovery.equals(MEMBERS) ? LOOPBACK : OwnAddress.AUTO);
    Optional<Path> tls = local.path("tls");
    ClusterConfig config =
        new ClusterConfig(
            host,
            section.integer("port", 15_701, 1, 65_535),
            discovery,
            joining.textList("members", List.of()),
            section.flag("insecure", false),
            file(local, "certificate", tls, "node.pem", "tls.crt"),
            file(local, "key", tls, "node.key", "tls.key"),
            file(local, "authority", tls, "authority.pem", "ca.crt"),
            Optional.ofNullable(joining.string("secretFile", null)),
            section.integer("restarts", 3, 0, 1_000_000));
    section.refuseUnknown();
    return config;
  }

  /**
   * Reads the name of a PEM file. In a folder it has one of two names; the second is that of a TLS
   * secret that Kubernetes mounts.
   */
  private static Optional<String> file(
      Settings section, String key, Optional<Path> folder, String name, String mounted) {
    Optional<String> found =
        folder.map(
            path -> path.resolve(Files.exists(path.resolve(mounted)) ? mounted : name).toString());
    return Optional.ofNullable(section.string(key, null)).or(() -> found);
  }

  /** Reads the address at which a section's port listens. */
  static String host(Settings section) {
    return host(section, LOOPBACK);
  }

  private static String host(Settings section, String usual) {
    String host =
        section
            .with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE, KeyTrait.NOT_PASSED, KeyTrait.ADDRESS)
            .string("host", usual);
    if (host.indexOf(':') >= 0) {
      throw section.refuse(
          "host",
          "is \"%s\", expected an IPv4 address or the name of a machine that has one, without a port; IPv6 is not supported"
              .formatted(host));
    }
    return host;
  }

  /** Reads the names by which a server may be asked besides its address. */
  static List<String> hosts(Settings section) {
    List<String> hosts = section.textList("hosts", List.of());
    for (String name : hosts) {
      if (!HOST_NAME.matcher(name).matches()) {
        throw section.refuse(
            "hosts",
            ("has \"%s\", expected a name without scheme and port, such as \"predictor\", or"
                    + " \"*.example\" for every name below example")
                .formatted(name));
      }
    }
    return hosts;
  }

  /**
   * Returns the address from which this machine sends to another. Sends nothing.
   *
   * @param other address or name of the other machine
   * @return empty without a route to it, and if it is reached through loopback
   */
  public static Optional<String> ownAddressTowards(String other) {
    return OwnAddress.towards(other);
  }

  /**
   * Returns the name of a process of this machine in events and control messages.
   *
   * @param pid its process id
   * @return such as {@code 10.0.0.5 pid 26446}
   */
  public String nodeName(long pid) {
    return "%s pid %s".formatted(host(), pid);
  }

  /**
   * Returns the address of this machine; looks it up where the job file says {@code auto}.
   *
   * @return address or name, never {@code auto}
   * @throws io.vertigrad.compute.settings.SettingsException if it is to be looked up and this
   *     machine has no address that others reach, or several
   */
  @Override
  public String host() {
    return host.equals(OwnAddress.AUTO) ? OwnAddress.find() : host;
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
