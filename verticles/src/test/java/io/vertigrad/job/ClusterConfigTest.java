package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
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

  @Test
  void shouldFindCertificatesInAFolderUnderEitherNames(@TempDir Path folder) throws IOException {
    JsonObject set = new JsonObject().put("tls", folder.toString()).put("key", "/own.key");

    assertEquals(Optional.of(folder + "/node.pem"), read(set).certificate());
    assertEquals(Optional.of("/own.key"), read(set).key());
    assertEquals(Optional.of(folder + "/authority.pem"), read(set).authority());
    Files.createFile(folder.resolve("tls.crt"));
    Files.createFile(folder.resolve("ca.crt"));
    assertEquals(Optional.of(folder + "/tls.crt"), read(set).certificate());
    assertEquals(Optional.of(folder + "/ca.crt"), read(set).authority());
  }

  @Test
  void shouldListenOnLoopbackUnlessOthersAreDiscovered() {
    assertEquals("127.0.0.1", read(new JsonObject()).host());
    JsonObject found = new JsonObject().put("discovery", "multicast");
    assertEquals("10.0.0.5", read(found.copy().put("host", "10.0.0.5")).host());
    assertEquals(
        "auto",
        JobConfig.read("job.json", new JsonObject().put("cluster", found))
            .json()
            .getJsonObject("cluster")
            .getString("host"));
  }

  private static ClusterConfig read(JsonObject cluster) {
    return JobConfig.read("job.json", new JsonObject().put("cluster", cluster)).cluster();
  }
}
