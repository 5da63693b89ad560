package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClusterConfigTest {

  @ParameterizedTest
  @CsvSource({"cluster, ::1", "dashboard, [::]", "serving, 10.0.0.5:8080"})
  void shouldRefuseIpv6AndPortsInEveryHost(String section, String host) {
    JsonObject job = new JsonObject().put(section, new JsonObject().put("host", host));

    SettingsException error =
        assertThrows(SettingsException.class, () -> JobConfig.read("job.json", job));

    assertEquals(
        ("job.json: %s.host is \"%s\", expected an IPv4 address or the name of a machine that has"
                + " one, without a port; IPv6 is not supported")
            .formatted(section, host),
        error.getMessage());
  }
}
