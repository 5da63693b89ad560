package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests runs whose folders are on a file system of a few KiB; skipped where none may be mounted.
 */
@Tag("slow")
class DiskFullTest {

  @TempDir private Path folder;

  @AfterEach
  void unmount() throws Exception {
    // A run's log stays open until the JVM ends, so the file system is detached later.
    command("umount", "-l", folder.resolve("small").toString());
  }

  @Test
  void shouldContinueWhenTheDiskIsFullForCheckpoints() throws Exception {
    Path small = mount(16);

    CommandRun run =
        train(
            folder.resolve("run"),
            "--set",
            "checkpoint.every=5",
            "--set",
            "checkpoint.directory=" + small.resolve("checkpoints"));

    assertEquals(0, run.exit(), run.err());
    assertTrue(run.out().contains("shard 0 could not write checkpoint"), run.out());
    assertTrue(run.out().contains("No space left on device; training goes on"), run.out());
    assertTrue(Files.exists(folder.resolve("run/model.zip")));
  }

  @Test
  void shouldContinueWhenTheDiskIsFullForPositionsOfAStream() throws Exception {
    Path small = mount(16);
    StringBuilder events = new StringBuilder("demand,class\n");
    for (int i = 0; i < 4_000; i++) {
      events.append("%d,%d%n".formatted(i * 7919 % 1_000, i * 7919 % 1_000 > 500 ? 1 : 0));
    }
    Path file = Files.writeString(folder.resolve("events.csv"), events);
    Path job =
        Files.writeString(
            folder.resolve("job.json"),
            """
            { "job": "prices", "steps": "unbounded", "checkpoint": { "every": 20 },
              "data": { "name": "stream", "source": { "kind": "file", "path": "-" },
                "schema": { "features": [ { "field": "demand" } ],
                            "label": { "field": "class", "classes": 2 } } },
              "model": { "name": "mlp", "hidden": 8 }, "workers": { "count": 2, "batch": 8 } }
            """);
    Path run = folder.resolve("run");

    CommandRun ended =
        CommandRun.of(
            "train",
            job.toString(),
            "--no-dashboard",
            "--run-dir=" + run,
            "--set=data.source.path=" + file,
            "--set=checkpoint.directory=" + small.resolve("checkpoints"));

    assertEquals(0, ended.exit(), ended.err());
    assertTrue(
        ended.out().contains("the positions of the stream cannot be written from step"),
        ended.out());
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));
    assertEquals(4_000, summary.getJsonObject("stream").getInteger("events"));
  }

  @Test
  void shouldReportTheLossWhenTheDiskIsFull() throws Exception {
    Path run = mount(24).resolve("run");

    CommandRun ended = train(run);

    String all = ended.out() + ended.err();
    assertEquals(1, ended.exit(), all);
    assertTrue(
        ended.out().contains(run + "/events.jsonl: no more events can be written: No space left"),
        all);
    assertTrue(ended.out().contains("version     30 "), all);
    assertEquals(
        "vertigrad: %s/model.zip: the trained model could not be saved: No space left on device;"
                .formatted(run)
            + " make room there, or train with --run-dir",
        ended.err().strip());
    assertFalse(Files.exists(run.resolve("model.zip")));
    assertFalse(Files.exists(run.resolve("model.zip.part")));
  }

  private Path mount(int kibibytes) throws Exception {
    Path small = Files.createDirectory(folder.resolve("small"));
    boolean mounted =
        command("mount", "-t", "tmpfs", "-o", "size=" + kibibytes + "k", "tmpfs", small.toString());
    assumeTrue(mounted, "a small file system may not be mounted here");
    return small;
  }

  private static boolean command(String... words) throws Exception {
    try {
      Process process =
          new ProcessBuilder(words)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return process.waitFor() == 0;
    } catch (IOException notThere) {
      return false;
    }
  }

  private static CommandRun train(Path run, String... options) {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("train", "conf/digits-sync.json", "--run-dir", run.toString()));
    arguments.addAll(
        List.of("--steps", "30", "--set", "data.train=1000", "--set", "data.test=200"));
    arguments.addAll(List.of(options));
    return CommandRun.of(arguments.toArray(String[]::new));
  }
}
