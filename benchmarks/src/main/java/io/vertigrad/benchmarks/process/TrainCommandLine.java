package io.vertigrad.benchmarks.process;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Runs {@code ./vertigrad train} as a user would, and reads its result files. */
public final class TrainCommandLine {

  private static final long LIMIT_MINUTES = 30;
  private static final int LAST_LINES = 20;

  /**
   * Runs the command that follows, and writes the processor time of all processes that it started
   * and waited for.
   */
  private static final String TIMED = "\"$@\"; code=$?; times >\"$0\"; exit $code";

  private static final Pattern CPU_TIME = Pattern.compile("(\\d+)m([\\d.,]+)s");

  private TrainCommandLine() {}

  /**
   * The files of a run.
   *
   * @param summary its {@code summary.json}
   * @param events the lines of its {@code events.jsonl}
   * @param timeline the events of its {@code timeline.json}; empty when it has no such file
   */
  public record Trained(JsonObject summary, List<JsonObject> events, List<JsonObject> timeline) {

    /**
     * Returns the throughput that the run itself reports, from its first batch to its last update.
     */
    public double samplesPerSecond() {
      return summary.getDouble("samplesPerSecond");
    }
  }

  /**
   * A run and what its whole command took.
   *
   * @param run the run's files
   * @param seconds from the start of the command to its end
   * @param cpuSeconds user and system time of all processes, their start included
   */
  public record Timed(Trained run, double seconds, double cpuSeconds) {}

  /**
   * Trains a job to its end and measures the whole command.
   *
   * @param job a whole job file
   * @param processes whether each role has its own process
   */
  public static Timed time(JsonObject job, boolean processes)
      throws IOException, InterruptedException {
    Path times = Files.createTempFile("vertigrad-benchmark-", ".times");
    try {
      long start = System.nanoTime();
      Trained run = train(job, processes, List.of("sh", "-c", TIMED, times.toString()));
      double seconds = (System.nanoTime() - start) / 1e9;
      return new Timed(run, seconds, cpuSeconds(Files.readString(times)));
    } finally {
      Files.delete(times);
    }
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

  /**
   * Trains a job to its end.
   *
   * @param job a whole job file
   * @param processes whether each role has its own process
   */
  public static Trained train(JsonObject job, boolean processes)
      throws IOException, InterruptedException {
    return train(job, processes, List.of());
  }

  /**
   * Trains a job to its end.
   *
   * @param before words before the command, such as a memory limit
   * @throws IOException with the output and the last lines of the members' logs, when it fails
   */
  public static Trained train(JsonObject job, boolean processes, List<String> before)
      throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("vertigrad-benchmark-");
    try {
      return run(job, processes, before, folder);
    } finally {
      delete(folder);
    }
  }

  private static Trained run(JsonObject job, boolean processes, List<String> before, Path folder)
      throws IOException, InterruptedException {
    Path file = folder.resolve("job.json");
    Path run = folder.resolve("run");
    Path output = folder.resolve("output");
    Files.writeString(file, job.encodePrettily());
    List<String> command = new ArrayList<>(before);
    command.addAll(List.of("./vertigrad", "train", file.toString()));
    command.addAll(List.of("--quiet", "--run-dir", run.toString()));
    if (processes) {
      command.add("--processes");
    }
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    boolean ended = process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES);
    if (!ended || process.exitValue() != 0) {
      process.destroyForcibly();
      String how = ended ? "ended with code " + process.exitValue() : "took over 30 minutes";
      throw new IOException(
          "%s %s: %s%n%s"
              .formatted(job.getString("job"), how, Files.readString(output), lastWords(run)));
    }
    return new Trained(
        new JsonObject(Files.readString(run.resolve("summary.json"))),
        Files.readAllLines(run.resolve("events.jsonl")).stream().map(JsonObject::new).toList(),
        timeline(run.resolve("timeline.json")));
  }

  private static List<JsonObject> timeline(Path file) throws IOException {
    return Files.exists(file)
        ? new JsonArray(Files.readString(file)).stream().map(JsonObject.class::cast).toList()
        : List.of();
  }

  /**
   * Returns the last lines of each member's log, because a killed member cannot report its own
   * error.
   */
  private static String lastWords(Path run) throws IOException {
    Path logs = run.resolve("logs");
    if (!Files.isDirectory(logs)) {
      return "";
    }
    StringBuilder words = new StringBuilder();
    try (Stream<Path> files = Files.list(logs)) {
      for (Path log : files.sorted().toList()) {
        List<String> lines = Files.readAllLines(log);
        lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size()).stream()
            .map(line -> log.getFileName() + ": " + line + System.lineSeparator())
            .forEach(words::append);
      }
    }
    return words.toString();
  }

  /** Deletes a folder with its contents. */
  public static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
