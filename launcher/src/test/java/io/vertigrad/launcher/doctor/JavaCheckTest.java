package io.vertigrad.launcher.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JavaCheckTest {

  @TempDir private Path folder;

  @Test
  void shouldNameTheNewestJavaWhenItStartsFaster() throws IOException {
    install("jdk-17", "17.0.15");
    install("jdk-25", "25.0.3");
    install("jdk-26", "26");
    Files.delete(install("jdk-27", "27").resolve("bin/java"));
    Files.createFile(folder.resolve("file"));

    assertEquals(Optional.of(folder.resolve("jdk-26")), JavaCheck.faster(17, folder));
    assertEquals(Optional.empty(), JavaCheck.faster(25, folder), "it has an AOT cache");
  }

  @Test
  void shouldNameNoneWhenNoJavaIsNewerOrTheFolderCannotBeRead() throws IOException {
    install("jdk-17", "17.0.15");
    install("jdk-21", "21.0.2");

    assertEquals(Optional.empty(), JavaCheck.faster(17, folder));
    assertEquals(Optional.empty(), JavaCheck.faster(17, folder.resolve("absent")));
    assertEquals(Optional.empty(), JavaCheck.faster(17, null));
  }

  private Path install(String name, String version) throws IOException {
    Path home = Files.createDirectories(folder.resolve(name));
    Files.writeString(home.resolve("release"), "JAVA_VERSION=\"%s\"\n".formatted(version));
    Path java = Files.createFile(Files.createDirectory(home.resolve("bin")).resolve("java"));
    assertTrue(java.toFile().setExecutable(true));
    return home;
  }
}
