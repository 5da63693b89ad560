package io.vertigrad.benchmarks.diloco;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DiLoCoTrajectoryTest {

  private static final Path PUBLISHED =
      Path.of("../strategies/src/test/resources/io/vertigrad/strategies/diloco-torchft.json");

  @Test
  void shouldPrintThePublishedTrajectories() throws IOException {
    JsonArray cases = new JsonObject(Files.readString(PUBLISHED)).getJsonArray("cases");
    for (int i = 0; i < cases.size(); i++) {
      JsonObject published = cases.getJsonObject(i);
      long delay = published.getLong("fragmentSyncDelay");
      double alpha = published.getDouble("fragmentUpdateAlpha");

      JsonObject found = new DiLoCoTrajectory(6, 2, delay, alpha).toJson();

      assertEquals(published.getJsonArray("replicas"), found.getJsonArray("replicas"));
    }
  }

  @Test
  void shouldTakeAnyNumberOfFragments() {
    JsonObject found =
        DiLoCoTrajectory.of(
                Map.of(
                        "vertigrad.benchmarks.syncEvery", "12",
                        "vertigrad.benchmarks.fragments", "3",
                        "vertigrad.benchmarks.delay", "2",
                        "vertigrad.benchmarks.alpha", "0.25")
                    ::get)
            .toJson();

    JsonObject parameters =
        found.getJsonArray("replicas").getJsonObject(1).getJsonObject("parametersBeforeStep");
    // Sent at -3 after two steps: global 1 - 2 * 4 = -7; own -7 after four: both agree.
    assertEquals(21, parameters.size());
    assertEquals(JsonArray.of(-7.0, -7.0, -7.0), parameters.getJsonArray("4"));
    // Sent at -11 after six: global 1 - 2 * 12 = -23; own -15: -23 + 0.25 * 8.
    assertEquals(-21.0, parameters.getJsonArray("8").getDouble(1));
  }

  @Test
  void shouldNameTheSettingWhenItIsWrong() {
    SettingsException refused =
        assertThrows(SettingsException.class, () -> new DiLoCoTrajectory(6, 4, 0, 0).toJson());

    assertEquals(
        "diloco-trajectory: syncEvery is 6, expected a multiple of fragments (4): one is"
            + " synchronised after another",
        refused.getMessage());
  }
}
