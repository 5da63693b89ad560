package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class CheckpointConfigTest {

  @Test
  void shouldAcceptTheOldNamesOfCheckpointKeys() {
    JsonObject servers =
        JsonObject.of(
            "count", 2, "checkpointEvery", 50, "checkpointKeep", 4, "checkpointDirectory", "kept");

    JobConfig job = JobConfig.read("old.json", JsonObject.of("servers", servers));

    assertEquals(new CheckpointConfig(50, 10, 4, Optional.of(Path.of("kept"))), job.checkpoint());
    assertEquals(2, job.servers().count());
    assertFalse(job.json().getJsonObject("servers").containsKey("checkpointEvery"));
  }

  @Test
  void shouldPreferTheNewName() {
    JsonObject json =
        JsonObject.of(
            "servers", JsonObject.of("checkpointEvery", 50),
            "checkpoint", JsonObject.of("every", 7));

    assertEquals(7, JobConfig.read("both.json", json).checkpoint().every());
  }
}
