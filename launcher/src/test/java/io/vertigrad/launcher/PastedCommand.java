package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A command that the program printed, as a user pastes it.
 *
 * @param words the words that the shell makes of it, without the program's name
 */
record PastedCommand(List<String> words) {

  private static final String PROGRAM = "./vertigrad ";

  /** Returns the command after this label in the output. */
  static PastedCommand after(String label, String printed) {
    List<String> found =
        printed.lines().filter(line -> line.contains(label + " " + PROGRAM)).toList();
    assertEquals(1, found.size(), "one command after '%s' in: %s".formatted(label, printed));
    String line = found.get(0);
    String command = line.substring(line.indexOf(PROGRAM) + PROGRAM.length());
    try {
      Process shell = new ProcessBuilder("sh", "-c", "printf '%s\\0' " + command).start();
      String words = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(true, shell.waitFor(10, TimeUnit.SECONDS) && shell.exitValue() == 0, command);
      return new PastedCommand(List.of(words.split("\0")));
    } catch (IOException | InterruptedException e) {
      throw new AssertionError("no shell took: " + command, e);
    }
  }

  /** Runs the command, with more words appended where the test must keep it short. */
  CommandRun run(String... more) {
    List<String> all = new java.util.ArrayList<>(words);
    all.addAll(List.of(more));
    return CommandRun.of(all.toArray(String[]::new));
  }
}
