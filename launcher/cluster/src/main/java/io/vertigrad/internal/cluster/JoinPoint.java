package io.vertigrad.internal.cluster;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.JoinException;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.UnknownHostException;
import java.util.Optional;
import java.util.function.Consumer;

/** Opens the join port of a run, and asks for a job at such a port. */
public final class JoinPoint {

  /** The join port's number is Hazelcast's port plus this, or the next free one. */
  public static final int ABOVE_CLUSTER = HazelcastNode.PORTS;

  /** The port at which a node asks when no port is given. */
  public static final int DEFAULT_PORT = JoinAddress.DEFAULT_PORT + ABOVE_CLUSTER;

  private JoinPoint() {}

  /**
   * Opens the join port of a run.
   *
   * @param cluster this node's own settings
   * @param job the job file, without settings that apply to one machine only
   * @param clusterAddress address at which its cluster is joined
   * @param report takes a line about a node that is refused
   * @throws SettingsException when no port is free
   */
  public static JoinPort open(
      ClusterConfig cluster,
      JsonObject job,
      Vertx vertx,
      String clusterAddress,
      JobSecret secret,
      Consumer<String> report) {
    JoinOffer offer = new JoinOffer(job, clusterAddress, "");
    String host = cluster.host();
    int first = JoinAddress.parse(clusterAddress).port() + ABOVE_CLUSTER;
    try {
      return JoinPort.open(host, first, offer, secret, BusSecurity.context(cluster, vertx), report);
    } catch (IOException e) {
      throw new SettingsException(
          "no port for nodes that join is free at %s, from %s on: %s; set cluster.port"
              .formatted(host, first, e.getMessage()),
          e);
    }
  }

  /**
   * Asks for a job.
   *
   * @param own this node's certificate, if it has one
   * @param job name of the job that this node expects, if it has a job file
   * @return empty when something else listens there
   * @throws SettingsException when nothing listens there
   * @throws JoinException when this node is refused
   */
  public static Optional<JoinOffer> ask(
      JoinAddress there, ClusterConfig own, Vertx vertx, JobSecret secret, Optional<String> job) {
    BusSecurity.checkFiles(own);
    try {
      return JoinOffer.ask(
          there.host(), there.port(), secret, BusSecurity.context(own, vertx), job);
    } catch (JoinException refused) {
      // The other end sends the same alert for every problem with a certificate.
      throw NodeCertificate.untimely(own)
          .map(why -> JoinException.refused(refused.getMessage() + "; " + why))
          .orElse(refused);
    } catch (UnknownHostException e) {
      throw new SettingsException(
          "%s: no machine of that name is known here; compare the name, or have this node wait with --wait"
              .formatted(there.host()),
          e);
    } catch (IOException e) {
      throw new SettingsException(
          "nothing answers at %s (%s); start the job there first, or have this node wait with --wait"
              .formatted(there, e.getMessage()),
          e);
    }
  }

  /** Returns true when other machines cannot reach this address. */
  public static boolean isLoopback(String host) {
    return BusSecurity.loopback(host);
  }
}
