package io.vertigrad.launcher.doctor;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import java.util.List;

/** Checks that certificate, key and authority can be read and belong together. */
final class TlsCheck implements Check {

  private static final String ADVICE = "docs/guide/operations.md says how to make certificates";

  private final ClusterConfig cluster;

  TlsCheck(ClusterConfig cluster) {
    this.cluster = cluster;
  }

  @Override
  public List<CheckResult> run() {
    try {
      ClusterStart.check(cluster);
      if (cluster.mutualTls()) {
        return List.of(CheckResult.ok("TLS", ClusterStart.certificate(cluster)));
      }
      return List.of(
          cluster.insecure()
              ? CheckResult.warn("TLS", "off: anyone who reaches the port can take over", ADVICE)
              : CheckResult.ok("TLS", "off, only this machine can reach " + cluster.host()));
    } catch (SettingsException e) {
      return List.of(CheckResult.fail("TLS", e.getMessage()));
    }
  }
}
