package io.vertigrad.job;

import io.vertigrad.compute.settings.SettingsException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Finds the address of this machine that other machines reach. It is never loopback. */
final class OwnAddress {

  /** The value of {@code cluster.host} for which the address is looked up. */
  static final String AUTO = "auto";

  /** The variable with the address of a pod; a manifest sets it from {@code status.podIP}. */
  static final String POD = "POD_IP";

  /** An address of no machine: only the route to it is looked up, and nothing is sent. */
  private static final String ELSEWHERE = "192.0.2.1";

  private static final int ANY_PORT = 9;

  private OwnAddress() {}

  /**
   * Returns the pod's address, else the address of the default route's interface, else that of the
   * only interface which is up.
   *
   * @throws SettingsException if there is none, or several, or the pod's is of IPv6
   */
  static String find() {
    return find(System.getenv());
  }

  static String find(Map<String, String> environment) {
    String pod = environment.getOrDefault(POD, "");
    if (pod.contains(":")) {
      throw new SettingsException(
          "%s is %s, expected an IPv4 address: IPv6 is not supported".formatted(POD, pod));
    }
    if (!pod.isEmpty()) {
      return pod;
    }
    return towards(ELSEWHERE).orElseGet(() -> only(addresses()));
  }

  /**
   * Returns the address from which this machine sends to another; empty without a route to it, and
   * if that is loopback.
   */
  static Optional<String> towards(String other) {
    try (DatagramSocket socket = new DatagramSocket()) {
      socket.connect(new InetSocketAddress(InetAddress.getByName(other), ANY_PORT));
      return Optional.of(socket.getLocalAddress())
          .filter(own -> !own.isAnyLocalAddress() && !own.isLoopbackAddress())
          .map(InetAddress::getHostAddress);
    } catch (IOException | UncheckedIOException noRoute) {
      return Optional.empty();
    }
  }

  static String only(List<String> addresses) {
    if (addresses.size() == 1) {
      return addresses.get(0);
    }
    throw new SettingsException(
        addresses.isEmpty()
            ? "cluster.host auto: found no network but loopback, expected an address that other machines reach; connect one, or set cluster.host (--host)"
            : "cluster.host auto: found no default route and the addresses %s; set cluster.host (--host) to the one that the other machines reach"
                .formatted(String.join(", ", addresses)));
  }

  private static List<String> addresses() {
    try {
      return NetworkInterface.networkInterfaces()
          .filter(OwnAddress::isUp)
          .flatMap(NetworkInterface::inetAddresses)
          .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
          .map(InetAddress::getHostAddress)
          .sorted()
          .collect(Collectors.toList());
    } catch (SocketException none) {
      return List.of();
    }
  }

  private static boolean isUp(NetworkInterface one) {
    try {
      return one.isUp();
    } catch (SocketException gone) {
      return false;
    }
  }
}
