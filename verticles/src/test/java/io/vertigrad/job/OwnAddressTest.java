package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.SettingsException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class OwnAddressTest {

  @Test
  void shouldTakeThePodsAddress() {
    assertEquals("10.1.2.3", OwnAddress.find(Map.of("POD_IP", "10.1.2.3")));
  }

  @Test
  void shouldRefuseAPodOfIpv6() {
    assertEquals(
        "POD_IP is fd00::2, expected an IPv4 address: IPv6 is not supported",
        refusal(() -> OwnAddress.find(Map.of("POD_IP", "fd00::2"))));
  }

  @Test
  void shouldTakeTheOnlyAddressWithoutADefaultRoute() {
    assertEquals("10.0.0.5", OwnAddress.only(List.of("10.0.0.5")));
  }

  @Test
  void shouldListTheAddressesWhenItCannotChoose() {
    assertEquals(
        "cluster.host auto: found no default route and the addresses 10.0.0.5, 10.1.0.5; set"
            + " cluster.host (--host) to the one that the other machines reach",
        refusal(() -> OwnAddress.only(List.of("10.0.0.5", "10.1.0.5"))));
  }

  @Test
  void shouldNotTakeLoopback() {
    assertEquals(
        "cluster.host auto: found no network but loopback, expected an address that other machines"
            + " reach; connect one, or set cluster.host (--host)",
        refusal(() -> OwnAddress.only(List.of())));
  }

  private static String refusal(Executable choice) {
    return assertThrows(SettingsException.class, choice).getMessage();
  }
}
