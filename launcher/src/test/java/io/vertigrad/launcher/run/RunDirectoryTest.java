package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunDirectoryTest {

  @TempDir private Path runs;

  @Test
  void shouldFindTheRunThatWasStartedLastWhenFilesOfAnotherAreNewer() throws IOException {
    run("a", 2_000, 5_000);
    run("b", 1_000, 9_000);

    assertEquals("a", RunDirectory.find(runs, "last").name());
  }

  private void run(String name, long startedMillis, long modifiedMillis) throws IOException {
    Path folder = Files.createDirectory(runs.resolve(name));
    Files.writeString(
        folder.resolve("launch.json"), JsonObject.of("startedMillis", startedMillis).encode());
    Path job = Files.writeString(folder.resolve("job.json"), "{}");
    Files.setLastModifiedTime(job, FileTime.fromMillis(modifiedMillis));
  }
}
