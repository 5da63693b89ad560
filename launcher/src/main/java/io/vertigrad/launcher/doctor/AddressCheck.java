package io.vertigrad.launcher.doctor;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import java.util.List;

/** Checks that the cluster's address belongs to this machine and that its port is free. */
final class AddressCheck implements Check {

  private static final String SUBJECT = "address";

  private final ClusterConfig cluster;

  AddressCheck(ClusterConfig cluster) {
    this.cluster = cluster;
  }

  @Override
  public List<CheckResult> run() {
    try {
      return run(cluster.host());
    } catch (SettingsException noAddress) {
      return List.of(CheckResult.fail(SUBJECT, noAddress.getMessage()));
    }
  }

  private List<CheckResult> run(String own) {
    String where = own + ":" + cluster.port();
    try (ServerSocket socket = new ServerSocket()) {
      InetAddress host = InetAddress.getByName(own);
      socket.bind(new InetSocketAddress(host, cluster.port()));
      return List.of(CheckResult.ok(SUBJECT, where + " is free for the cluster"));
    } catch (UnknownHostException e) {
      return List.of(CheckResult.fail(SUBJECT, own + " is not known here", "set cluster.host"));
    } catch (BindException e) {
      return List.of(taken(where, e));
    } catch (IOException e) {
      return List.of(CheckResult.fail(SUBJECT, where + ": " + e.getMessage(), "set cluster.host"));
    }
  }

  private CheckResult taken(String where, BindException error) {
    if (String.valueOf(error.getMessage()).contains("Cannot assign")) {
      return CheckResult.fail(
          SUBJECT,
          cluster.host() + " is no address of this machine",
          "set cluster.host to one of its own, or leave it at 127.0.0.1");
    }
    String holder = PortHolder.of(cluster.port()).map(text -> " by " + text).orElse("");
    return CheckResult.warn(
        SUBJECT,
        where + " is taken" + holder,
        "the next free port is used; nodes then join with the port that train prints");
  }
}
