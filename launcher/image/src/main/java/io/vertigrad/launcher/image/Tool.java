package io.vertigrad.launcher.image;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs programs of the building machine. */
final class Tool {

  private static final long LIMIT_MINUTES = 10;

  private Tool() {}

  /** Runs a program in a folder to its end; what it prints goes to standard error. */
  static void run(Path folder, List<String> command) throws IOException {
    ProcessBuilder builder = builder(command).directory(folder.toFile());
    await(builder.redirectOutput(ProcessBuilder.Redirect.DISCARD).start(), text(command));
  }

  /** Returns what a program prints, without the end of its last line. */
  static String output(List<String> command) throws IOException {
    Process process = start(command);
    String text =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).stripTrailing();
    await(process, text(command));
    return text;
  }

  /** Starts a program whose standard output is to be read. */
  static Process start(List<String> command) throws IOException {
    return builder(command).start();
  }

  /** Waits for the end of a program. */
  static void await(Process process, String command) throws IOException {
    try {
      if (!process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)) {
        process.destroyForcibly();
        throw new IOException("%s: took more than %s minutes".formatted(command, LIMIT_MINUTES));
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      throw new IOException(command + ": was interrupted", e);
    }
    if (process.exitValue() != 0) {
      throw new IOException(
          "%s: ended with %s, expected 0".formatted(command, process.exitValue()));
    }
  }

  private static ProcessBuilder builder(List<String> command) {
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("LC_ALL", "C.UTF-8");
    return builder.redirectError(ProcessBuilder.Redirect.INHERIT);
  }

  private static String text(List<String> command) {
    return String.join(" ", command);
  }
}
