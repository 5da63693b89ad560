package io.vertigrad.internal.checkpoint;

import java.io.IOException;
import java.nio.file.Path;

/** A file that is not a complete, intact checkpoint. The message names the file and the place. */
final class CheckpointException extends IOException {

  private static final long serialVersionUID = 1;

  CheckpointException(Path file, String what, Object found, Object expected) {
    super("%s: %s is %s, expected %s".formatted(file, what, found, expected));
  }
}
