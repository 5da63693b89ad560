package io.vertigrad.benchmarks.scaling;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Runs {@code ./vertigrad train} as a person would, and reads its summary. */
public final class TrainCommandLine {

  private static final long LIMIT_MINUTES = 10;

  private TrainCommandLine() {}

  /**
   * The samples per second that the run itself reports, from its first batch to its last update.
   */
  static double samplesPerSecond(TrainingCase training) throws IOException, InterruptedException {
    return summary(training.toString(), training.job(), training.processes(), List.of())
        .getDouble("samplesPerSecond");
  }

  /**
   * Trains and reads {@code summary.json}.
   *
   * @param name for errors
   * @param before words in front of the command, such as a limit of memory
   * @throws IOException with the output when it fails
   */
  public static JsonObject summary(
      String name, JsonObject job, boolean processes, List<String> before)
      throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("vertigrad-benchmark-");
    try {
      return run(name, job, processes, before, folder);
    } finally {
      delete(folder);
    }
  }

  private static JsonObject run(
      String name, JsonObject json, boolean processes, List<String> before, Path folder)
      throws IOException, InterruptedException {
    Path job = folder.resolve("job.json");
    Path run = folder.resolve("run");
    Path output = folder.resolve("output");
    Files.writeString(job, json.encodePrettily());
    List<String> command = new ArrayList<>(before);
    command.addAll(List.of("./vertigrad", "train", job.toString()));
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
      throw new IOException(
          "%s %s: %s"
              .formatted(
                  name,
                  ended ? "ended with code " + process.exitValue() : "took over 10 minutes",
                  Files.readString(output)));
    }
    return new JsonObject(Files.readString(run.resolve("summary.json")));
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
