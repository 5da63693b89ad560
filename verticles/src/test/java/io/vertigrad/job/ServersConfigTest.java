package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;

class ServersConfigTest {

  @Test
  void shouldSayWhatReplacesBackupsOfServers() {
    assertEquals(
        "job.json: servers.replicas is 1, which is no longer there: servers have no backups, and a"
            + " replacement goes on from a checkpoint to the same parameters; delete the key, and"
            + " keep checkpoint.seconds or checkpoint.every above 0",
        assertThrows(SettingsException.class, () -> read(1)).getMessage());
  }

  /** Earlier versions wrote the default into every run's job.json, which can still be resumed. */
  @Test
  void shouldIgnoreTheFormerDefaultOfARunThatIsResumed() {
    JobConfig job = read(0);

    assertEquals(new JsonObject().put("count", 2), job.json().getJsonObject("servers"));
  }

  private static JobConfig read(int replicas) {
    JsonObject servers = new JsonObject().put("count", 2).put("replicas", replicas);
    return JobConfig.read("job.json", new JsonObject().put("servers", servers));
  }
}
