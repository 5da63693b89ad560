package io.vertigrad.launcher.comparison;

import io.vertigrad.compute.settings.JsonText;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Locale;

/** Reads small files of a run's folder, in whatever state the folder is. */
final class FileText {

  private FileText() {}

  /**
   * Reads a file of settings. Never waits for a writer, as a pipe would.
   *
   * @throws IOException that {@link #reason} explains
   */
  static String read(Path file) throws IOException {
    require(file);
    if (Files.size(file) > JsonText.MOST_BYTES) {
      throw new IOException(
          String.format(
              Locale.ROOT,
              "has %,d bytes, expected at most %,d",
              Files.size(file),
              JsonText.MOST_BYTES));
    }
    return JsonText.decode(file.getFileName().toString(), Files.readAllBytes(file));
  }

  /** Fails unless this is a file, not a link, a folder, a pipe or a device. */
  static void require(Path file) throws IOException {
    BasicFileAttributes found =
        Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    if (!found.isRegularFile()) {
      String what = found.isDirectory() ? "is a folder, expected a file" : "is no regular file";
      throw new FileNotFoundException(
          found.isSymbolicLink() ? "is a link, which is not followed" : what);
    }
  }

  /** Completes a sentence that begins with the name of the file. */
  static String reason(IOException failure) {
    if (failure instanceof AccessDeniedException) {
      return "may not be read: check its permissions";
    }
    if (failure instanceof NoSuchFileException) {
      return "is missing";
    }
    return failure.getMessage() == null ? failure.toString() : failure.getMessage();
  }
}
