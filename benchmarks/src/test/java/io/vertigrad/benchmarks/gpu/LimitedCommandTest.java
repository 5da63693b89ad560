package io.vertigrad.benchmarks.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LimitedCommandTest {

  @TempDir Path folder;

  @Test
  void shouldKillACommandThatTakesTooLongWithItsChildren() throws Exception {
    try (LimitedCommand command = shell("echo $$; sleep 60; true", 200)) {
      String message = assertThrows(IOException.class, command::await).getMessage();

      assertTrue(message.startsWith("a.log (sh): not done after 0 s, killed"), message);
      assertFalse(command.isAlive());
      command.handle().children().forEach(child -> assertFalse(child.isAlive()));
    }
  }

  @Test
  void shouldReportTheEndOfTheOutputOfACommandThatFails() throws Exception {
    try (LimitedCommand command = shell("seq 20; exit 3", 10_000)) {
      String message = assertThrows(IOException.class, command::awaitSuccess).getMessage();

      assertTrue(message.startsWith("a.log (sh): ended with code 3, expected 0: 9\n"), message);
    }
  }

  @Test
  void shouldReturnTheOutput() throws Exception {
    try (LimitedCommand command = shell("echo $A; echo b >&2", 10_000)) {
      assertEquals("a\nb\n", command.awaitSuccess().text());
    }
  }

  private LimitedCommand shell(String text, long millis) throws IOException {
    return new LimitedCommand(
        List.of("sh", "-c", text),
        Map.of("A", "a"),
        folder,
        folder.resolve("a.log"),
        System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
  }
}
