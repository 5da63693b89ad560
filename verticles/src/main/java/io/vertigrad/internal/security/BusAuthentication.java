package io.vertigrad.internal.security;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Vertx;
import java.util.ServiceLoader;
import java.util.Set;

/**
 * Adds proofs of a job's secret to messages on the event bus, and refuses messages without them.
 *
 * <p>That takes the codec and the bytes of a message, which Vert.x keeps to itself. The provider is
 * therefore in {@code vertigrad-cluster}, which may use inner classes of libraries.
 */
public interface BusAuthentication {

  /**
   * Starts to prove and to check messages to addresses of a job, until this Vert.x closes.
   *
   * @param localFrameAddresses the addresses at which this process receives frames; a message to
   *     one of them does not leave the process, and needs no proof
   */
  void install(Vertx vertx, Addresses job, JobSecret secret, Set<String> localFrameAddresses);

  /**
   * Returns the provider.
   *
   * @param job the job whose messages need proofs
   * @throws SettingsException when there is no provider
   */
  static BusAuthentication of(Addresses job) {
    return ServiceLoader.load(BusAuthentication.class, BusAuthentication.class.getClassLoader())
        .findFirst()
        .orElseThrow(
            () ->
                new SettingsException(
                    ("job %s has a secret (cluster.secretFile), and nothing here proves messages of"
                            + " the event bus with it: add the artifact io.vertigrad:vertigrad-cluster")
                        .formatted(job.job())));
  }
}
