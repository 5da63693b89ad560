package io.vertigrad.benchmarks.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs {@code ./vertigrad archive}, which makes the class archive unless there is one. */
public final class ArchiveCommandLine {

  private static final long LIMIT_MINUTES = 15;
  private static final Pattern ARCHIVED =
      Pattern.compile("^vertigrad: classes are archived in (.+)$", Pattern.MULTILINE);

  private ArchiveCommandLine() {}

  /**
   * Builds what is not built and makes the archive, unless there is one.
   *
   * @param before words before the command, such as {@code env JAVA_HOME=DIR}
   * @return the archive
   */
  public static Path make(List<String> before) throws IOException, InterruptedException {
    Path output = Files.createTempFile("vertigrad-benchmark-", ".output");
    List<String> command = new ArrayList<>(before);
    command.addAll(List.of("./vertigrad", "archive"));
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(output.toFile())
              .start();
      boolean ended = process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES);
      Matcher archived = ARCHIVED.matcher(Files.readString(output));
      if (!ended || process.exitValue() != 0 || !archived.find()) {
        process.destroyForcibly();
        throw new IOException(
            "%s: found '%s', expected the name of the archive within %s minutes"
                .formatted(
                    String.join(" ", command), Files.readString(output).strip(), LIMIT_MINUTES));
      }
      return Path.of(archived.group(1));
    } finally {
      Files.delete(output);
    }
  }

  /** Makes the archive again, as after a build, and measures that. */
  public static CommandTimer.Times time(List<String> before)
      throws IOException, InterruptedException {
    Files.delete(make(before));
    try (CommandTimer timer = new CommandTimer()) {
      make(timer.before(before));
      return timer.stop();
    }
  }
}
