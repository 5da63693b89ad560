package io.vertigrad.launcher.comparison;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * Size and time of a file; they differ when its content does.
 *
 * @param bytes -1 if there is no such file
 * @param modifiedMillis milliseconds since 1970; 0 if there is no such file
 */
record FileStamp(long bytes, long modifiedMillis) {

  private static final FileStamp NONE = new FileStamp(-1, 0);

  static FileStamp of(Path file) {
    try {
      BasicFileAttributes found = Files.readAttributes(file, BasicFileAttributes.class);
      return new FileStamp(found.size(), found.lastModifiedTime().toMillis());
    } catch (IOException absent) {
      return NONE;
    }
  }
}
