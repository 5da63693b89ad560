package io.vertigrad.testkit.chaos;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Two network namespaces of this machine with a router between them. When the router stops
 * forwarding, packets are lost silently, as when a cable behind a switch is cut. It can also be as
 * slow as a link between sites.
 *
 * <p>It needs Linux, {@code ip} of iproute2 and permission to create namespaces. The three
 * namespaces have no other connection.
 */
public final class NetworkLink implements AutoCloseable {

  /** The address of processes at the near end. */
  public static final String NEAR_HOST = "10.203.1.2";

  /** The address of processes at the far end. */
  public static final String FAR_HOST = "10.203.2.2";

  private static final String NEAR_ROUTER = "10.203.1.1";
  private static final String FAR_ROUTER = "10.203.2.1";

  private final String near;
  private final String far;
  private final String router;

  private NetworkLink(String prefix) {
    near = prefix + "n";
    far = prefix + "f";
    router = prefix + "r";
  }

  /**
   * Creates the namespaces and connects them.
   *
   * @throws IOException naming the command that failed and its output, also when permission is
   *     missing
   */
  public static NetworkLink create() throws IOException, InterruptedException {
    NetworkLink link = new NetworkLink("vg" + ProcessHandle.current().pid());
    try {
      for (String space : List.of(link.near, link.far, link.router)) {
        ip("netns", "add", space);
        ip("-n", space, "link", "set", "lo", "up");
      }
      link.connect(link.near, NEAR_HOST, NEAR_ROUTER);
      link.connect(link.far, FAR_HOST, FAR_ROUTER);
      link.restore();
      return link;
    } catch (IOException e) {
      link.close();
      throw e;
    }
  }

  /** Returns a command that runs another one at the near end, with the same process id. */
  public List<String> near(List<String> command) {
    return inside(near, command);
  }

  /** Returns a command that runs another one at the far end, with the same process id. */
  public List<String> far(List<String> command) {
    return inside(far, command);
  }

  /**
   * Limits what the router forwards in each direction from now on: a token bucket of 64 KiB.
   *
   * @param megabits rate in Mbit/s, at least 1
   * @throws IOException naming the command that failed, for example because {@code tc} is missing
   */
  public void limit(int megabits) throws IOException, InterruptedException {
    String rate = megabits + "mbit";
    for (String end : List.of(near + "r", far + "r")) {
      List<String> words = new ArrayList<>(List.of("tc", "qdisc", "replace", "dev", end, "root"));
      words.addAll(List.of("tbf", "rate", rate, "burst", "64kb", "latency", "400ms"));
      run(inside(router, words));
    }
  }

  void cut() throws IOException, InterruptedException {
    forward(0);
  }

  void restore() throws IOException, InterruptedException {
    forward(1);
  }

  /** Removes the namespaces together with their devices. */
  @Override
  public void close() {
    for (String space : List.of(near, far, router)) {
      try {
        ip("netns", "del", space);
      } catch (IOException notMade) {
        // The other namespaces are removed all the same.
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void connect(String space, String host, String gateway)
      throws IOException, InterruptedException {
    String routerEnd = space + "r";
    ip("link", "add", space, "netns", space, "type", "veth", "peer", routerEnd, "netns", router);
    ip("-n", space, "addr", "add", host + "/24", "dev", space);
    ip("-n", router, "addr", "add", gateway + "/24", "dev", routerEnd);
    ip("-n", space, "link", "set", space, "up");
    ip("-n", router, "link", "set", routerEnd, "up");
    ip("-n", space, "route", "add", "default", "via", gateway);
  }

  private void forward(int on) throws IOException, InterruptedException {
    String write = "echo %s > /proc/sys/net/ipv4/ip_forward".formatted(on);
    run(inside(router, List.of("sh", "-c", write)));
  }

  private static List<String> inside(String space, List<String> command) {
    List<String> all = new ArrayList<>(List.of("ip", "netns", "exec", space));
    all.addAll(command);
    return all;
  }

  private static void ip(String... words) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of("ip"));
    command.addAll(List.of(words));
    run(command);
  }

  private static void run(List<String> command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(String.join(" ", command) + ": " + said.strip());
    }
  }
}
