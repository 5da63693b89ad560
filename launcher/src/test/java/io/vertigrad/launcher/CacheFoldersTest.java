package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CacheFoldersTest {

  private static final Instant NOW = Instant.parse("2026-11-24T12:00:00Z");

  @TempDir private Path temporary;

  @Test
  void shouldRemoveOldFoldersOfProcessesThatHaveEnded() throws IOException {
    old("vertigrad-cache-17-abc/page/index.html");
    old("vertigrad-cache-18-abc/page/index.html");
    old("vertigrad-cache-x-abc/file");
    old("another/file");
    Files.createDirectory(temporary.resolve("vertigrad-cache-17-def"));
    touch(temporary.resolve("vertigrad-cache-17-def"), NOW.minusSeconds(60));

    CacheFolders.removeLeftovers(temporary, number -> number == 18, NOW);

    try (Stream<Path> left = Files.list(temporary)) {
      assertEquals(
          Set.of(
              "vertigrad-cache-17-def",
              "vertigrad-cache-18-abc",
              "vertigrad-cache-x-abc",
              "another"),
          left.map(path -> path.getFileName().toString()).collect(Collectors.toSet()));
    }
  }

  private void old(String name) throws IOException {
    Path file = temporary.resolve(name);
    Files.createDirectories(file.getParent());
    Files.createFile(file);
    touch(temporary.resolve(Path.of(name).getName(0)), NOW.minus(2, ChronoUnit.HOURS));
  }

  private static void touch(Path path, Instant when) throws IOException {
    Files.setLastModifiedTime(path, FileTime.from(when));
  }
}
