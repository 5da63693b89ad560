package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.job.InputException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
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

  @Test
  void shouldMakeAPrivateFolderWhenTheUserHasNoHome() throws IOException {
    String former = System.setProperty("user.home", "?");
    try {
      CacheFolders.prepareHome(temporary, null);

      Path home = Path.of(System.getProperty("user.home"));
      assertEquals(temporary, home.getParent());
      assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(home)));
      assertEquals(
          home.resolve(".javacpp/cache").toString(),
          System.getProperty("org.bytedeco.javacpp.cachedir"));
      assertEquals(home.resolve(".cache/JNA").toString(), System.getProperty("jna.tmpdir"));

      System.setProperty("user.home", "?");
      CacheFolders.prepareHome(temporary, temporary.toString());
      assertEquals(temporary.toString(), System.getProperty("user.home"));
    } finally {
      restore(former);
    }
  }

  @Test
  void shouldRefuseAFolderThatOthersCanRead() throws IOException {
    String former = System.setProperty("user.home", "?");
    try {
      CacheFolders.prepareHome(temporary, null);
      Path home = Path.of(System.getProperty("user.home"));
      Files.setPosixFilePermissions(home, PosixFilePermissions.fromString("rwxr-xr-x"));
      System.setProperty("user.home", "?");

      InputException refused =
          assertThrows(InputException.class, () -> CacheFolders.prepareHome(temporary, null));

      assertTrue(refused.getMessage().contains("set HOME to a folder of yours"));
    } finally {
      restore(former);
    }
  }

  private static void restore(String home) {
    System.setProperty("user.home", home);
    System.clearProperty("org.bytedeco.javacpp.cachedir");
    System.clearProperty("jna.tmpdir");
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
