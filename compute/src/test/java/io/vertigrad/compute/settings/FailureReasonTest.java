package io.vertigrad.compute.settings;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import org.junit.jupiter.api.Test;

class FailureReasonTest {

  @Test
  void shouldLeaveTheClassNameOut() {
    assertEquals("disk on fire", FailureReason.of(new IOException("disk on fire")));
    assertEquals(
        "disk on fire",
        FailureReason.of(new UncheckedIOException(new IOException("disk on fire"))));
  }

  @Test
  void shouldKeepTheMessageOfAWrapper() {
    assertEquals(
        "f: not written",
        FailureReason.of(new UncheckedIOException("f: not written", new IOException("full"))));
  }

  @Test
  void shouldNameTheClassWhenThereIsNothingElse() {
    assertEquals("NullPointerException", FailureReason.of(new NullPointerException()));
    assertEquals("IOException", FailureReason.of(new IOException(" ")));
  }

  @Test
  void shouldReportWhyAFileFailed() {
    assertEquals("f: there is no such file", FailureReason.of(new NoSuchFileException("f")));
    assertEquals("f: permission denied", FailureReason.of(new AccessDeniedException("f")));
    assertEquals(
        "f: there is a file of that name already",
        FailureReason.of(new FileAlreadyExistsException("f")));
    assertEquals(
        "f: DirectoryNotEmptyException", FailureReason.of(new DirectoryNotEmptyException("f")));
    assertEquals(
        "f: No space left on device",
        FailureReason.of(new FileSystemException("f", null, "No space left on device")));
  }
}
