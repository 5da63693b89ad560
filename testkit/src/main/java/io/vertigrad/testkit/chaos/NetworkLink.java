package io.vertigrad.testkit.chaos;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

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

  private static final int MOST_MEGABITS = 10_000;
  private static final double MOST_MILLIS = 10_000;
  private static final long BYTES_PER_MEGABIT = 125_000;

  /** Two packets of the size that the kernel hands over at once. */
  private static final long LEAST_BURST_BYTES = 128 << 10;

  /** Timer interrupts of Linux in a second: a bucket must last from one to the next. */
  private static final long INTERRUPTS = 250;

  /** More than the windows of a few TCP connections, so that none of them loses packets. */
  private static final long MOST_QUEUE_BYTES = 32 << 20;

  private static final double MOST_WAIT_SECONDS = 0.4;

  /** Packets that wait out a delay: 10 Gbit/s for 100 ms in packets of 1,514 bytes. */
  private static final int DELAYED_PACKETS = 100_000;

  private static final Pattern SENT = Pattern.compile("Sent (\\d+) bytes");

  private final String near;
  private final String far;
  private final String router;
  private boolean delayed;

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

  /** Returns the name of the near end's network interface. */
  public String nearInterface() {
    return near;
  }

  /** Returns the name of the far end's network interface. */
  public String farInterface() {
    return far;
  }

  /**
   * Limits what the router forwards in each direction from now on, without a delay.
   *
   * @param megabits rate in Mbit/s, 1 to 10,000
   * @throws IOException naming the command that failed, for example because {@code tc} is missing
   */
  public void limit(int megabits) throws IOException, InterruptedException {
    limit(megabits, 0);
  }

  /**
   * Limits what the router forwards in each direction from now on, and delays it: a token bucket
   * that holds 4 ms of the rate, but at least 128 KiB, with a queue of 0.4 s of the rate, but at
   * most 32 MiB. Headers count.
   *
   * @param megabits rate in Mbit/s, 1 to 10,000
   * @param roundTripMillis what a packet and its answer take longer together, in ms, 0 to 10,000:
   *     each end holds what it sends for half of it
   * @throws IllegalArgumentException for a rate or a delay outside these limits
   * @throws IOException naming the command that failed, for example because {@code tc} is missing;
   *     with a delay also when {@link #whyNoDelay} has a reason
   */
  public void limit(int megabits, double roundTripMillis) throws IOException, InterruptedException {
    List<String> bucket = bucket(megabits);
    if (!(roundTripMillis >= 0 && roundTripMillis <= MOST_MILLIS)) {
      throw new IllegalArgumentException(
          "round trip of a link: found %s ms, expected 0 to 10,000".formatted(roundTripMillis));
    }
    delay(roundTripMillis);
    for (String end : routerEnds()) {
      List<String> words = new ArrayList<>(List.of("tc", "qdisc", "replace", "dev", end, "root"));
      words.addAll(bucket);
      run(inside(router, words));
    }
  }

  /**
   * Returns why packets cannot be delayed here; empty when they can. It leaves the link without a
   * delay.
   */
  public Optional<String> whyNoDelay() throws InterruptedException {
    try {
      delay(1);
      delay(0);
      return Optional.empty();
    } catch (IOException refused) {
      return Optional.of(refused.getMessage());
    }
  }

  /**
   * Returns the bytes that the router has forwarded to the far end and to the near end since the
   * first {@link #limit}, headers included, as the token buckets count them.
   */
  public long[] forwardedBytes() throws IOException, InterruptedException {
    List<String> ends = routerEnds();
    return new long[] {sent(ends.get(1)), sent(ends.get(0))};
  }

  /** Returns the words of {@code tc} for a rate. */
  static List<String> bucket(int megabits) {
    if (megabits < 1 || megabits > MOST_MEGABITS) {
      throw new IllegalArgumentException(
          "rate of a link: found %s Mbit/s, expected 1 to 10,000".formatted(megabits));
    }
    long rate = megabits * BYTES_PER_MEGABIT;
    long burst = Math.max(LEAST_BURST_BYTES, rate / INTERRUPTS);
    long queue = burst + (long) Math.min(MOST_QUEUE_BYTES, rate * MOST_WAIT_SECONDS);
    return List.of(
        "tbf", "rate", megabits + "mbit", "burst", Long.toString(burst), "limit", "" + queue);
  }

  /** Returns the reason of a refused delay in one line. */
  static String noDelay(String refusal) {
    return refusal.contains("qdisc kind is unknown")
        ? "this kernel has no netem (CONFIG_NET_SCH_NETEM), so a link cannot have a delay here;"
            + " load the module sch_netem, or leave the delay out"
        : refusal;
  }

  private void delay(double roundTripMillis) throws IOException, InterruptedException {
    if (roundTripMillis == 0 && !delayed) {
      return;
    }
    String micros = String.format(Locale.ROOT, "%.0fus", roundTripMillis * 1e3 / 2);
    for (String space : List.of(near, far)) {
      String verb = roundTripMillis == 0 ? "del" : "replace";
      List<String> words = new ArrayList<>(List.of("tc", "qdisc", verb, "dev", space, "root"));
      if (roundTripMillis > 0) {
        words.addAll(List.of("netem", "delay", micros, "limit", "" + DELAYED_PACKETS));
      }
      try {
        run(inside(space, words));
      } catch (IOException refused) {
        throw new IOException(noDelay(refused.getMessage()), refused);
      }
    }
    delayed = roundTripMillis > 0;
  }

  private List<String> routerEnds() {
    return List.of(near + "r", far + "r");
  }

  private long sent(String end) throws IOException, InterruptedException {
    String said = run(inside(router, List.of("tc", "-s", "qdisc", "show", "dev", end)));
    Matcher sent = SENT.matcher(said);
    if (!sent.find()) {
      throw new IOException("tc -s qdisc show dev %s: no count in: %s".formatted(end, said));
    }
    return Long.parseLong(sent.group(1));
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

  private static String run(List<String> command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(String.join(" ", command) + ": " + said.strip());
    }
    return said;
  }
}
