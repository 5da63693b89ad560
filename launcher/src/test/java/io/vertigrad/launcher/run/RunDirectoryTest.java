package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
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

  @Test
  void shouldFindTheRunAndNotItsCopy() throws IOException {
    for (String name : List.of("a", "b", "c")) {
      run(name, 1_000, name.equals("b") ? 5_000 : 9_000);
      // Two of them are copies of run b, which have its files.
      Files.writeString(runs.resolve(name + "/job.json"), "{\"run\": {\"id\": \"b-01234567\"}}");
    }

    assertEquals("b", RunDirectory.find(runs, "last").name());
  }

  @Test
  void shouldFindTheRunThatWasStartedLastWhenTheClockWasSetBack() throws IOException {
    long ahead = System.currentTimeMillis() + 3_600_000;
    run("a", ahead, 1_000);
    run("b", ahead - 60_000, 1_000);
    RunDirectory later = RunDirectory.at(runs.resolve("0"));

    new RunLaunch(new JsonObject(), Placement.ONE_JVM, false, 1, 1, 0).write(later);

    assertEquals("0", RunDirectory.find(runs, "last").name());
    assertEquals(ahead + 1, RunLaunch.startedMillis(later));
  }

  private void run(String name, long startedMillis, long modifiedMillis) throws IOException {
    Path folder = Files.createDirectory(runs.resolve(name));
    Files.writeString(
        folder.resolve("launch.json"), JsonObject.of("startedMillis", startedMillis).encode());
    Path job = Files.writeString(folder.resolve("job.json"), "{}");
    Files.setLastModifiedTime(job, FileTime.fromMillis(modifiedMillis));
  }
}
