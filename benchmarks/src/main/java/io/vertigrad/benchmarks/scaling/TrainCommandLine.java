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
final class TrainCommandLine {

  private static final long LIMIT_MINUTES = 10;

  private TrainCommandLine() {}

  /**
   * The samples per second that the run itself reports, from its first batch to its last update.
   */
  static double samplesPerSecond(TrainingCase training) throws IOException, InterruptedException {
    Path folder = Files.createTempDirectory("vertigrad-scaling-");
    try {
      return run(training, folder).getDouble("samplesPerSecond");
    } finally {
      delete(folder);
    }
  }

  private static JsonObject run(TrainingCase training, Path folder)
      throws IOException, InterruptedException {
    Path job = folder.resolve("job.json");
    Path run = folder.resolve("run");
    Path output = folder.resolve("output");
    Files.writeString(job, training.job().encodePrettily());
    List<String> command = new ArrayList<>(List.of("./vertigrad", "train", job.toString()));
    command.addAll(List.of("--quiet", "--run-dir", run.toString()));
    if (training.processes()) {
      command.add("--processes");
    }
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    boolean ended = process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES);
    if (!ended || process.exitValue() != 0) {
      process.destroy();
      throw new IOException(
          "%s %s: %s"
              .formatted(
                  training,
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
