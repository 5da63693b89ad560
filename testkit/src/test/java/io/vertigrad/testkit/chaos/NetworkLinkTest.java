package io.vertigrad.testkit.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests links; what needs namespaces is skipped without the right to make them. */
class NetworkLinkTest {

  @Test
  void shouldHaveABucketOfATimerInterruptAndAQueueInBytes() {
    assertEquals(
        List.of("tbf", "rate", "10000mbit", "burst", "5000000", "limit", "38554432"),
        NetworkLink.bucket(10_000));
    assertEquals(
        List.of("tbf", "rate", "10mbit", "burst", "131072", "limit", "631072"),
        NetworkLink.bucket(10));
  }

  @Test
  void shouldRefuseARateThatNoLinkHas() {
    assertEquals(
        "rate of a link: found 10001 Mbit/s, expected 1 to 10,000",
        assertThrows(IllegalArgumentException.class, () -> NetworkLink.bucket(10_001))
            .getMessage());
    assertThrows(IllegalArgumentException.class, () -> NetworkLink.bucket(0));
  }

  @Test
  void shouldSayThatTheKernelHasNoNetem() {
    String refusal = "tc qdisc replace dev x root netem: Error: Specified qdisc kind is unknown.";

    assertEquals(
        "this kernel has no netem (CONFIG_NET_SCH_NETEM), so a link cannot have a delay here;"
            + " load the module sch_netem, or leave the delay out",
        NetworkLink.noDelay(refusal));
    assertEquals("tc: not found", NetworkLink.noDelay("tc: not found"));
  }

  @Test
  void shouldTakeEveryRateAndADelayWhereTheKernelHasThem() throws Exception {
    try (NetworkLink link = linkOrSkip()) {
      for (int megabits : List.of(10_000, 1_000, 100, 10)) {
        link.limit(megabits);
        assertEquals(2, link.forwardedBytes().length);
      }
      Optional<String> why = link.whyNoDelay();
      if (why.isEmpty()) {
        link.limit(100, 0.2);
        link.limit(100);
      } else {
        IOException refused = assertThrows(IOException.class, () -> link.limit(100, 20));
        assertEquals(why.get(), refused.getMessage());
      }
      assertThrows(IllegalArgumentException.class, () -> link.limit(100, -1));
      assertThrows(IllegalArgumentException.class, () -> link.limit(100, Double.NaN));
    }
  }

  @Test
  void shouldCountWhatItForwards() throws Exception {
    try (NetworkLink link = linkOrSkip()) {
      link.limit(100);
      long before = link.forwardedBytes()[0];
      // No answer is needed, and no listener: a datagram counts where it is forwarded.
      String send = "exec 3>/dev/udp/%s/9 && echo hello >&3".formatted(NetworkLink.FAR_HOST);
      Process process = new ProcessBuilder(link.near(List.of("bash", "-c", send))).start();

      assertEquals(0, process.waitFor());
      assertTrue(link.forwardedBytes()[0] > before);
    }
  }

  private static NetworkLink linkOrSkip() throws InterruptedException {
    try {
      return NetworkLink.create();
    } catch (IOException refused) {
      assumeTrue(false, "no namespaces here: " + refused.getMessage());
      throw new AssertionError(refused);
    }
  }
}
