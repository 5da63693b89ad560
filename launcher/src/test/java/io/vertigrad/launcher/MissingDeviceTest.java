package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests a request for a GPU that the engine of this class path does not support. */
class MissingDeviceTest {

  private static final String REASON =
      "workers.device is cuda, but the engine dl4j computes where the ND4J that it was built with"
          + " does: leave it out, and build with -Pcuda (VERTIGRAD_PROFILE=cuda) for a GPU";

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"--quiet", "--processes", "--workers-here=1"})
  void shouldMakeNoRunFolderWhenADeviceIsMissing(String option) {
    Path run = folder.resolve("run");

    CommandRun train =
        CommandRun.of("train", "--set", "workers.device=cuda", "--run-dir", run.toString(), option);

    assertEquals(2, train.exit(), train.err());
    assertTrue(train.err().strip().endsWith(": " + REASON), train.err());
    assertFalse(Files.exists(run));
  }

  @Test
  void shouldNotJoinWhenADeviceIsMissing() {
    CommandRun node =
        CommandRun.of(
            "node",
            "--role",
            "worker",
            "--join",
            "127.0.0.1:1",
            "--set",
            "workers.device=cuda",
            "conf/digits-sync.json");

    assertEquals(2, node.exit(), node.err());
    assertTrue(node.err().strip().endsWith(": " + REASON), node.err());
  }
}
