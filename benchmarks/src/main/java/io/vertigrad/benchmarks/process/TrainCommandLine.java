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
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Runs {@code ./vertigrad train} as a user would, and reads its result files. */
public final class TrainCommandLine {

  private static final long LIMIT_MINUTES = 30;
  private static final int LAST_LINES = 20;

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
   * A run and the processor time of its threads.
   *
   * @param run the run's files
   * @param samples taken while it ran, in their order
   */
  public record Sampled(Trained run, List<ThreadSampler.Sample> samples) {}

  /**
   * Trains a job to its end, and samples its threads' processor time.
   *
   * @param job a whole job file
   * @param processes whether each role has its own process
   */
  public static Sampled sample(JsonObject job, boolean processes)
      throws IOException, InterruptedException {
    try (ThreadSampler sampler = new ThreadSampler()) {
      Trained run = train(job, processes, List.of(), sampler::start);
      return new Sampled(run, sampler.stop());
    }
  }

  /**
   * Trains a job to its end and measures the whole command.
   *
   * @param job a whole job file
   * @param processes whether each role has its own process
   */
  public static Timed time(JsonObject job, boolean processes)
      throws IOException, InterruptedException {
    return time(job, processes, List.of());
  }

  /**
   * Trains a job to its end and measures the whole command.
   *
   * @param before words before the command, such as {@code env JAVA_HOME=DIR}
   */
  public static Timed time(JsonObject job, boolean processes, List<String> before)
      throws IOException, InterruptedException {
    try (CommandTimer timer = new CommandTimer()) {
      Trained run = train(job, processes, timer.before(before));
      CommandTimer.Times times = timer.stop();
      return new Timed(run, times.seconds(), times.cpuSeconds());
    }
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
    return train(job, processes, before, started -> {});
  }

  private static Trained train(
      JsonObject job, boolean processes, List<String> before, Consumer<ProcessHandle> started)
      throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("vertigrad-benchmark-");
    try {
      return run(job, processes, before, folder, started);
    } finally {
      delete(folder);
    }
  }

  private static Trained run(
      JsonObject job,
      boolean processes,
      List<String> before,
      Path folder,
      Consumer<ProcessHandle> started)
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
    started.accept(process.toHandle());
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
      for (Path log : files.filter(f -> f.toString().endsWith(".log")).sorted().toList()) {
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
