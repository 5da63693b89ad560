package io.vertigrad.internal.security;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Vertx;
import io.vertx.core.shareddata.LocalMap;
import io.vertx.core.shareddata.Shareable;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The secrets of the jobs that this Vert.x takes part in. Any thread may use it. */
public final class JobSecrets implements Shareable {

  private static final Logger LOG = LoggerFactory.getLogger(JobSecrets.class);
  private static final String KEY = "vertigrad.secrets";

  private final Vertx vertx;
  private final Set<String> localFrameAddresses = ConcurrentHashMap.newKeySet();
  private final Map<String, JobSecret> secrets = new ConcurrentHashMap<>();
  private final Set<String> warned = ConcurrentHashMap.newKeySet();

  private JobSecrets(Vertx vertx) {
    this.vertx = vertx;
  }

  /** Returns the secrets of this Vert.x. */
  public static JobSecrets of(Vertx vertx) {
    LocalMap<String, JobSecrets> map = vertx.sharedData().getLocalMap(KEY);
    return map.computeIfAbsent(KEY, first -> new JobSecrets(vertx));
  }

  /**
   * Requires a proof for messages and streams of this job from now on; a later secret for the same
   * job is ignored.
   *
   * @throws SettingsException when {@code vertigrad-cluster} is missing; the job then has no secret
   */
  public void add(Addresses job, JobSecret secret) {
    BusAuthentication authentication = BusAuthentication.of(job);
    if (secrets.putIfAbsent(job.job(), secret) == null) {
      authentication.install(vertx, job, secret, localFrameAddresses);
    }
  }

  /** Returns true when this job has a secret. */
  public boolean has(Addresses job) {
    return secrets.containsKey(job.job());
  }

  /** Returns the secret of the job that an address belongs to, or {@link JobSecret#none}. */
  public JobSecret forAddress(String address) {
    if (!address.startsWith(Addresses.PREFIX)) {
      return JobSecret.none();
    }
    int begin = Addresses.PREFIX.length();
    int end = address.indexOf('.', begin);
    String job = end < 0 ? address.substring(begin) : address.substring(begin, end);
    return secrets.getOrDefault(job, JobSecret.none());
  }

  /** Records that this process receives frames at an address, or no longer does. */
  public void setListening(String address, boolean now) {
    if (now) {
      localFrameAddresses.add(address);
    } else {
      localFrameAddresses.remove(address);
    }
  }

  /** Warns once that a job in a cluster has no secret. */
  public void warnMissingSecret(Addresses job) {
    if (warned.add(job.job())) {
      LOG.warn(
          "job {} has no secret: anyone who reaches the event bus's port can stop it or send it"
              + " gradients; make a file of 64 random hexadecimal digits that only its owner can read"
              + " and name it in every member's cluster.secretFile",
          job.job());
    }
  }
}
