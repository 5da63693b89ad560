package io.vertigrad.compute.settings;

import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** Says why something failed, for use inside a sentence that says what failed. */
public final class FailureReason {

  private FailureReason() {}

  /**
   * Returns a failure's message without the name of its class. The message of some failures of
   * files is only the file's name; they get the reason as well.
   *
   * @param failure that was caught
   * @return one line or more, never empty
   */
  public static String of(Throwable failure) {
    String message = failure.getMessage();
    if (failure instanceof UncheckedIOException wrapper
        && wrapper.getCause().toString().equals(message)) {
      return of(wrapper.getCause());
    }
    if (message == null || message.isBlank()) {
      return failure.getClass().getSimpleName();
    }
    String reason = failure instanceof FileSystemException file ? reason(file) : "";
    return reason.isEmpty() ? message.strip() : message.strip() + ": " + reason;
  }

  private static String reason(FileSystemException failure) {
    if (failure.getReason() != null) {
      return "";
    }
    if (failure instanceof NoSuchFileException) {
      return "there is no such file";
    } else if (failure instanceof AccessDeniedException) {
      return "permission denied";
    } else if (failure instanceof FileAlreadyExistsException) {
      return "there is a file of that name already";
    } else if (failure instanceof NotDirectoryException) {
      return "is no folder";
    }
    return failure.getClass().getSimpleName();
  }
}
