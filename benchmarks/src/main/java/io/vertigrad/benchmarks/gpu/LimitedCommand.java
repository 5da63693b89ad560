package io.vertigrad.benchmarks.gpu;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A command that is killed, with all processes that it started, when it takes too long. */
final class LimitedCommand implements AutoCloseable {

  private static final int TAIL_LINES = 12;
  private static final long KILLED_SECONDS = 10;

  private final List<String> command;
  private final Path log;
  private final long deadlineNanos;
  private final long start = System.nanoTime();
  private final Process process;

  /**
   * What a command did.
   *
   * @param code its exit code
   * @param text its output and errors
   * @param seconds from its start to its end
   */
  record Output(int code, String text, double seconds) {

    /** Returns the last lines of the output, without the places of stack traces. */
    String tail() {
      List<String> lines = text.strip().lines().filter(line -> !line.startsWith("\tat ")).toList();
      return String.join("\n", lines.subList(Math.max(0, lines.size() - TAIL_LINES), lines.size()));
    }
  }

  /**
   * Starts a command.
   *
   * @param environment variables to set in addition to this process's own
   * @param folder where it runs
   * @param log where its output is written
   * @param deadlineNanos when it is killed, as {@link System#nanoTime()}
   */
  LimitedCommand(
      List<String> command,
      Map<String, String> environment,
      Path folder,
      Path log,
      long deadlineNanos)
      throws IOException {
    this.command = List.copyOf(command);
    this.log = log;
    this.deadlineNanos = deadlineNanos;
    Files.createDirectories(log.getParent());
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    builder.environment().putAll(environment);
    process =
        builder
            .redirectErrorStream(true)
            .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
            .redirectOutput(log.toFile())
            .start();
  }

  ProcessHandle handle() {
    return process.toHandle();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Returns the output so far. */
  String text() throws IOException {
    return Files.readString(log);
  }

  /**
   * Waits for the end.
   *
   * @throws IOException when the command takes too long; it is then killed
   */
  Output await() throws IOException, InterruptedException {
    if (!process.waitFor(deadlineNanos - System.nanoTime(), TimeUnit.NANOSECONDS)) {
      double seconds = (deadlineNanos - start) / 1e9;
      close();
      throw new IOException(
          String.format(
              Locale.ROOT,
              "%s: not done after %.0f s, killed; its output ends with: %s",
              name(),
              seconds,
              new Output(-1, text(), seconds).tail()));
    }
    return new Output(process.exitValue(), text(), (System.nanoTime() - start) / 1e9);
  }

  /**
   * Waits for the end.
   *
   * @throws IOException when the exit code is not 0, too
   */
  Output awaitSuccess() throws IOException, InterruptedException {
    Output output = await();
    if (output.code() != 0) {
      throw new IOException(
          "%s: ended with code %s, expected 0: %s".formatted(name(), output.code(), output.tail()));
    }
    return output;
  }

  /** Kills the command and what it started. */
  @Override
  public void close() {
    List<ProcessHandle> all =
        Stream.concat(process.descendants(), Stream.of(process.toHandle())).toList();
    all.forEach(ProcessHandle::destroyForcibly);
    try {
      process.waitFor(KILLED_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns the name of the log, which says which command it was. */
  private String name() {
    return "%s (%s)".formatted(log.getFileName(), Path.of(command.get(0)).getFileName());
  }
}
