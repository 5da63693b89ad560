package io.vertigrad.codecs;

import java.nio.charset.StandardCharsets;

/**
 * Builds the event-bus addresses of one job. Every address for requests has one consumer, except
 * that of predictors.
 *
 * @param job the job's name: 1 to 64 letters, digits, '-' and '_', the first a letter or digit
 */
public record Addresses(String job) {

  /** The prefix of the address of every message inside a job. */
  public static final String PREFIX = "vertigrad.";

  /** The prefix of the addresses that browsers may subscribe to. */
  public static final String METRICS_PREFIX = "metrics.";

  /** Checks that the name can be part of an address. */
  public Addresses {
    if (!job.matches("[A-Za-z0-9][A-Za-z0-9_-]{0,63}")) {
      throw new IllegalArgumentException(
          "job name '%s': expected 1 to 64 letters, digits, '-' and '_', the first a letter or digit"
              .formatted(job.length() > 80 ? job.substring(0, 80) + "..." : job));
    }
  }

  /**
   * Returns the address for control requests: join, heartbeat, leave.
   *
   * @return the address
   */
  public String coordinator() {
    return PREFIX + job + ".coordinator";
  }

  /**
   * Returns the address on which the coordinator publishes membership changes and commands to all
   * members. Messages are published, never sent.
   *
   * @return the address
   */
  public String control() {
    return PREFIX + job + ".control";
  }

  /**
   * Returns the address on which training events are published, never sent.
   *
   * @return the address
   */
  public String events() {
    return PREFIX + job + ".events";
  }

  /**
   * Returns the address at which predictors answer. Several may listen; each request goes to one.
   *
   * @return the address
   */
  public String predict() {
    return PREFIX + job + ".predict";
  }

  /**
   * Returns the address on which members publish the spans of the run's timeline. Messages are
   * published, never sent.
   *
   * @return the address
   */
  public String timeline() {
    return PREFIX + job + ".timeline";
  }

  /**
   * Returns the address on which the figures of a dashboard are published a few times a second,
   * never sent. Browsers may subscribe to it.
   *
   * @return the address
   */
  public String metrics() {
    return METRICS_PREFIX + job;
  }

  /**
   * Returns the address for requests from dashboards. It is the only address that browsers may send
   * to.
   *
   * @return the address
   */
  public String metricsRequests() {
    return "metrics-requests." + job;
  }

  /**
   * Returns the address for gradients and pulls of one shard.
   *
   * @param shard rank of the shard, from 0
   * @param incarnation of the shard's server
   * @return the address
   */
  public String shard(int shard, int incarnation) {
    return PREFIX + job + ".shard." + shard + "." + incarnation;
  }

  /**
   * Returns the address at which one shard answers others that ask for its part of a sum.
   *
   * @param shard rank of the shard, from 0
   * @param incarnation of the shard's server
   * @return the address
   */
  public String sums(int shard, int incarnation) {
    return shard(shard, incarnation) + ".sums";
  }

  /**
   * Returns the name and address of the strategy beside a server or a worker. Members of the same
   * JVM find it by this name; members of other JVMs send requests to this address.
   *
   * @param role {@code server} or {@code worker}
   * @param rank of the server or worker, from 0
   * @return the address
   */
  public String strategy(String role, int rank) {
    return PREFIX + job + ".strategy." + role + "." + rank;
  }

  /**
   * Returns the address for requests to one member of any role.
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
   * Computes the FNV-1a 64-bit hash of a name. Every frame header carries such a hash.
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
   * Returns the job's hash for {@link ExchangeId#job()}.
   *
   * @return the hash
   */
  public long jobHash() {
    return hash(job);
  }
}
