package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that missing data is found before a folder is made, a port opened or a process started. */
final class MissingDataTest {

  private static final String ADVICE =
      "; name the folder with --data DIR, fetch the files with --download, or train on the"
          + " generated data set 'digits'";

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"", "--processes", "--listen", "--workers-here=0"})
  void shouldMakeNoRunFolderWhenTheDataFolderIsMissing(String option) {
    Path missing = folder.resolve("nothing");

    CommandRun run = train(missing, option);

    assertEquals(
        "vertigrad: %s: no such folder, expected a folder with the files of data set 'mnist'%s"
            .formatted(missing, ADVICE),
        run.err().strip());
    assertEquals(2, run.exit());
    assertEquals("", run.out());
    assertFalse(Files.exists(folder.resolve("run")));
  }

  @Test
  void shouldMakeNoRunFolderWhenAFileIsMissing() throws IOException {
    Path images = TinyImages.in(folder.resolve("images"));
    Files.delete(images.resolve("t10k-labels-idx1-ubyte"));

    CommandRun run = train(images, "--processes");

    assertEquals(
        "vertigrad: %s: has no t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte.gz, neither directly"
                .formatted(images)
            + " nor in mnist/"
            + ADVICE,
        run.err().strip());
    assertEquals(2, run.exit());
    assertFalse(Files.exists(folder.resolve("run")));
  }

  @Test
  void shouldNotJoinWhenTheDataFolderIsMissing() {
    Path missing = folder.resolve("nothing");

    CommandRun run =
        CommandRun.of(
            "node",
            "--role",
            "worker",
            "--join",
            "127.0.0.1:1",
            "--data",
            missing.toString(),
            "conf/mnist-sync.json");

    assertEquals(
        "vertigrad: %s: no such folder, expected a folder with the files of data set 'mnist'%s"
            .formatted(missing, ADVICE),
        run.err().strip());
    assertEquals(2, run.exit());
  }

  private CommandRun train(Path data, String option) {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("train", "conf/mnist-sync.json", "--data", data.toString()));
    arguments.addAll(List.of("--run-dir", folder.resolve("run").toString()));
    if (!option.isEmpty()) {
      arguments.add(option);
    }
    return CommandRun.of(arguments.toArray(String[]::new));
  }
}
