package io.vertigrad.codecs;

import java.nio.charset.StandardCharsets;

/**
 * Event-bus addresses of one job. One address has one consumer.
 *
 * @param job the job's name: 1 to 64 letters, digits, '-' and '_', the first a letter or digit
 */
public record Addresses(String job) {

  /** The address prefix of everything Vertigrad sends. */
  public static final String PREFIX = "vertigrad.";

  /** The address prefix of what browsers may listen to. */
  public static final String METRICS_PREFIX = "metrics.";

  /** Refuses a name that is no part of an address. */
  public Addresses {
    if (!job.matches("[A-Za-z0-9][A-Za-z0-9_-]{0,63}")) {
      throw new IllegalArgumentException(
          "job name '%s': expected 1 to 64 letters, digits, '-' and '_', the first a letter or digit"
              .formatted(job.length() > 80 ? job.substring(0, 80) + "..." : job));
    }
  }

  /**
   * Control requests: join, heartbeat, leave.
   *
   * @return the address
   */
  public String coordinator() {
    return PREFIX + job + ".coordinator";
  }

  /**
   * Where members hear of membership changes and commands; published, never sent.
   *
   * @return the address
   */
  public String control() {
    return PREFIX + job + ".control";
  }

  /**
   * Training events; published, never sent.
   *
   * @return the address
   */
  public String events() {
    return PREFIX + job + ".events";
  }

  /**
   * What members did when, for the run's timeline; published, never sent.
   *
   * @return the address
   */
  public String timeline() {
    return PREFIX + job + ".timeline";
  }

  /**
   * What a dashboard shows, a few times a second; published, never sent. Browsers may listen.
   *
   * @return the address
   */
  public String metrics() {
    return METRICS_PREFIX + job;
  }

  /**
   * Requests of dashboards; the only address that browsers may send to.
   *
   * @return the address
   */
  public String metricsRequests() {
    return "metrics-requests." + job;
  }

  /**
   * Gradients and pulls for one shard.
   *
   * @param shard from 0
   * @param incarnation of the shard's server
   * @return the address
   */
  public String shard(int shard, int incarnation) {
    return PREFIX + job + ".shard." + shard + "." + incarnation;
  }

  /**
   * Where the strategy beside a shard or a worker is found: inside its JVM by this name, from
   * another one by requests to this address.
   *
   * @param role {@code server} or {@code worker}
   * @param rank of the server or worker, from 0
   * @return the address
   */
  public String strategy(String role, int rank) {
    return PREFIX + job + ".strategy." + role + "." + rank;
  }

  /**
   * Requests to one member, whatever its role.
   *
   * @param role in lower case
   * @param rank from 0
   * @param incarnation of the member
   * @return the address
   */
  public String member(String role, int rank, int incarnation) {
    return PREFIX + job + "." + role + "." + rank + "." + incarnation;
  }

  /**
   * FNV-1a 64-bit hash of a name, as carried in every frame header.
   *
   * @param name such as a job's
   * @return the hash
   */
  public static long hash(String name) {
    long hash = 0xcbf29ce484222325L;
    for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
      hash = (hash ^ (b & 0xff)) * 0x100000001b3L;
    }
    return hash;
  }

  /**
   * The job's hash for {@link ExchangeId#job()}.
   *
   * @return the hash
   */
  public long jobHash() {
    return hash(job);
  }
}
