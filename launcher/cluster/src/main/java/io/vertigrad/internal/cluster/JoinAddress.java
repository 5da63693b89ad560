package io.vertigrad.internal.cluster;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobSecret;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * An address at which a cluster can be joined: {@code HOST} or {@code HOST:PORT}. IPv6 is refused.
 *
 * @param host name or address
 * @param port Hazelcast's port there
 */
public record JoinAddress(String host, int port) {

  /** The port of a cluster's first node unless its job file says otherwise. */
  public static final int DEFAULT_PORT = 15_701;

  /** The highest port of TCP. */
  public static final int MOST_PORT = 65_535;

  private static final int CONNECT_MILLIS = 3_000;
  private static final int ASK_MILLIS = 500;

  /** Reads an address of a cluster. */
  public static JoinAddress parse(String text) {
    return parse(text, DEFAULT_PORT);
  }

  /** Reads an address, using the default port when it names none. */
  public static JoinAddress parse(String text, int defaultPort) {
    int colon = text.indexOf(':');
    if (colon != text.lastIndexOf(':') || text.startsWith("[")) {
      throw new SettingsException(
          "join address \"%s\": IPv6 is not supported, expected the IPv4 address or the name of a machine that has one, such as 10.0.0.5:%s"
              .formatted(text, DEFAULT_PORT));
    }
    if (colon < 0) {
      return new JoinAddress(checked(text, text), defaultPort);
    }
    return new JoinAddress(
        checked(text, text.substring(0, colon)), port(text, text.substring(colon + 1)));
  }

  /**
   * Returns the first member to join that can be reached; empty when the settings list none.
   *
   * @throws SettingsException when no listed member can be reached, with the names that are unknown
   */
  static Optional<JoinAddress> firstAnswering(ClusterConfig config) {
    List<JoinAddress> members = config.members().stream().map(JoinAddress::parse).toList();
    List<String> unknown = new ArrayList<>();
    Optional<JoinAddress> first = firstAnswering(members, unknown);
    if (!members.isEmpty() && first.isEmpty()) {
      throw new SettingsException(
          "nothing answers at %s%s; start the job there first, with ./vertigrad train --listen"
              .formatted(String.join(", ", config.members()), unknown(unknown)));
    }
    return first;
  }

  /**
   * Returns why none of these addresses answers; empty when one does. An unknown name is no answer:
   * the name of a container is unknown until it is started.
   */
  public static Optional<String> silence(List<JoinAddress> addresses) {
    List<String> unknown = new ArrayList<>();
    return firstAnswering(addresses, unknown).isPresent()
        ? Optional.empty()
        : Optional.of("nothing answers there yet" + unknown(unknown));
  }

  /**
   * Asks twice a second until one of these addresses answers; returns false when none does within
   * the time.
   */
  public static boolean answerWithin(List<JoinAddress> addresses, int seconds) {
    return within(seconds, () -> silence(addresses).isEmpty());
  }

  /**
   * Asks twice a second until none of these addresses answers; returns false when one still does
   * after the time.
   */
  public static boolean silentWithin(List<JoinAddress> addresses, int seconds) {
    return within(seconds, () -> silence(addresses).isPresent());
  }

  private static boolean within(int seconds, BooleanSupplier condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (System.nanoTime() < end) {
      if (condition.getAsBoolean()) {
        return true;
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(ASK_MILLIS));
    }
    return false;
  }

  /** Returns the first of these addresses that answers; the only one or the first if none does. */
  public static JoinAddress firstOf(List<JoinAddress> addresses) {
    return addresses.size() == 1
        ? addresses.get(0)
        : firstAnswering(addresses, new ArrayList<>()).orElse(addresses.get(0));
  }

  private static Optional<JoinAddress> firstAnswering(
      List<JoinAddress> addresses, List<String> unknown) {
    for (JoinAddress address : addresses) {
      try {
        if (address.answers()) {
          return Optional.of(address);
        }
      } catch (SettingsException unknownName) {
        unknown.add(address.host());
      }
    }
    return Optional.empty();
  }

  private static String unknown(List<String> names) {
    return names.isEmpty()
        ? ""
        : " (no machine of the name %s with an IPv4 address is known here)"
            .formatted(String.join(" or ", names));
  }

  /**
   * Returns the join port of the job whose cluster is at this address, assuming that the usual port
   * was free.
   */
  public JoinAddress joinPort() {
    return new JoinAddress(host, port + JoinPoint.ABOVE_CLUSTER);
  }

  /**
   * Returns the address from which this machine sends to that one; empty if that is loopback. Sends
   * nothing.
   */
  public Optional<String> reachedFrom() {
    return ClusterConfig.ownAddressTowards(host);
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }

  /**
   * Returns true when something listens at this address.
   *
   * @throws SettingsException when its name is unknown
   */
  public boolean answers() {
    return answers(CONNECT_MILLIS);
  }

  /**
   * Returns true when a node that knows this secret listens here. The port of a node that has ended
   * may belong to another job by now, or to any other program.
   */
  public boolean isNodeOf(JobSecret secret) {
    Handshake handshake = new ConnectionGuard(ConnectionGuard.HAZELCAST, secret).connecting();
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getByName(host), port), ASK_MILLIS);
      socket.setSoTimeout((int) TimeUnit.SECONDS.toMillis(ConnectionGuard.SECONDS));
      socket.getOutputStream().write(handshake.opening());
      handshake.take(socket.getInputStream().readNBytes(handshake.expectedBytes()));
      return handshake.proved();
    } catch (IOException notOurs) {
      return false;
    }
  }

  private boolean answers(int limitMillis) {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getByName(host), port), limitMillis);
      return true;
    } catch (UnknownHostException e) {
      throw new SettingsException(
          "%s: no machine of that name with an IPv4 address is known here".formatted(host), e);
    } catch (IOException e) {
      return false;
    }
  }

  private static String checked(String text, String host) {
    if (host.isBlank()) {
      throw new SettingsException(
          "join address \"%s\": expected HOST or HOST:PORT, such as 10.0.0.5:%s"
              .formatted(text, DEFAULT_PORT));
    }
    return host;
  }

  private static int port(String text, String digits) {
    if (digits.matches("[0-9]{1,5}")) {
      int port = Integer.parseInt(digits);
      if (port >= 1 && port <= MOST_PORT) {
        return port;
      }
    }
    throw new SettingsException(
        "join address \"%s\": port is \"%s\", expected a number from 1 to 65535"
            .formatted(text, digits));
  }
}
