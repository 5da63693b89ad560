package io.vertigrad.benchmarks.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Measures one command, with the processor time of all processes that it starts and waits for. */
public final class CommandTimer implements AutoCloseable {

  /** Runs the command that follows, and writes the processor time of all its processes. */
  private static final String TIMED = "\"$@\"; code=$?; times >\"$0\"; exit $code";

  private static final Pattern CPU_TIME = Pattern.compile("(\\d+)m([\\d.,]+)s");

  private final Path file = Files.createTempFile("vertigrad-benchmark-", ".times");
  private long start;

  CommandTimer() throws IOException {}

  /**
   * What a command took.
   *
   * @param seconds from its start to its end
   * @param cpuSeconds user and system time of all its processes
   */
  public record Times(double seconds, double cpuSeconds) {}

  /**
   * Returns the words before the command, and starts to measure.
   *
   * @param more words that follow them
   */
  List<String> before(List<String> more) {
    List<String> words = new ArrayList<>(List.of("sh", "-c", TIMED, file.toString()));
    words.addAll(more);
    start = System.nanoTime();
    return words;
  }

  /** Returns what the command, which has ended, took. */
  Times stop() throws IOException {
    double seconds = (System.nanoTime() - start) / 1e9;
    return new Times(seconds, cpuSeconds(Files.readString(file)));
  }

  @Override
  public void close() throws IOException {
    Files.delete(file);
  }

  /**
   * Returns the user and system time of a shell's children.
   *
   * @param times the output of the shell's {@code times}: its own times first, then the children's
   */
  static double cpuSeconds(String times) {
    Matcher time = CPU_TIME.matcher(times);
    double seconds = 0;
    int found = 0;
    for (; time.find(); found++) {
      if (found >= 2) {
        String fraction = time.group(2).replace(',', '.');
        seconds += 60 * Integer.parseInt(time.group(1)) + Double.parseDouble(fraction);
      }
    }
    if (found != 4) {
      throw new IllegalStateException(
          "the shell's times are '%s', expected four like 0m0.00s".formatted(times.strip()));
    }
    return seconds;
  }
}
