package io.vertigrad.launcher.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.launcher.job.InputException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class JoinAddressTest {

  @ParameterizedTest
  @CsvSource({
    "10.0.0.5, 10.0.0.5, 15701",
    "10.0.0.5:4000, 10.0.0.5, 4000",
    "train.example.org:15702, train.example.org, 15702"
  })
  void shouldSplitHostAndPortWhenWritten(String text, String host, int port) {
    assertEquals(new JoinAddress(host, port), JoinAddress.parse(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"::1", "[::1]", "[::1]:4000", "fe80::1%eth0", "[::1"})
  void shouldRefuseIpv6(String text) {
    assertEquals(
        "join address \"%s\": IPv6 is not supported, expected the IPv4 address or the name of a"
                .formatted(text)
            + " machine that has one, such as 10.0.0.5:15701",
        refusal(text));
  }

  @Test
  void shouldExpectANumberWhenPortIsNone() {
    assertEquals(
        "join address \"host:http\": port is \"http\", expected a number from 1 to 65535",
        refusal("host:http"));
    assertEquals(
        "join address \"host:70000\": port is \"70000\", expected a number from 1 to 65535",
        refusal("host:70000"));
  }

  @Test
  void shouldExpectAHostWhenThereIsNone() {
    assertEquals(
        "join address \":4000\": expected HOST or HOST:PORT, such as 10.0.0.5:15701",
        refusal(":4000"));
  }

  private static String refusal(String text) {
    return assertThrows(InputException.class, () -> JoinAddress.parse(text)).getMessage();
  }
}
