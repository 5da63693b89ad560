package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.compute.settings.SettingsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JobSecretTest {

  @TempDir private Path folder;
  private Path file;

  @BeforeEach
  void make() {
    file = folder.resolve("secret");
    JobSecret.createOrRead(file);
  }

  @Test
  void shouldRefuseAFileOfItsOwnThatAGroupReads() throws IOException {
    String found = refusal("rw-r-----");

    assertEquals(
        "%s: found mode rw-r-----, expected that nobody but its owner can read it: chmod 600 %s"
            .formatted(file, file),
        found);
  }

  /** So Kubernetes mounts a secret for a process that is not root. */
  @Test
  void shouldReadAFileOfAnotherUserForItsGroupOnly() throws IOException {
    String expected = JobSecret.read(file).name("test");
    assumeTrue(System.getProperty("user.name").equals("root"), "only root can give files away");
    Files.setOwner(
        file, file.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("nobody"));

    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--r-----"));
    assertEquals(expected, JobSecret.read(file).name("test"));

    assertTrue(refusal("r--r--r--").contains("found mode r--r--r--"));
    assertTrue(refusal("rw-rw----").contains("found mode rw-rw----"));
  }

  private String refusal(String mode) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(mode));
    return assertThrows(SettingsException.class, () -> JobSecret.read(file)).getMessage();
  }
}
