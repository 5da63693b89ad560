package io.vertigrad.launcher.run;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.InputException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.stream.Stream;

/**
 * The folder of one run.
 *
 * @param path {@code runs/<time>-<job>} unless chosen
 */
public record RunDirectory(Path path) {

  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss");

  /** Name of the file with the secret, in a run's folder and beside a copied job file. */
  public static final String SECRET = "secret";

  /**
   * Makes a fresh folder {@code runs/<time>-<job>} below the working directory.
   *
   * @throws InputException when it cannot be written
   */
  public static RunDirectory fresh(Path parent, String job, LocalDateTime now) {
    String id = TIME.format(now) + "-" + job;
    Path path = parent.resolve(id);
    for (int again = 2; Files.exists(path); again++) {
      path = parent.resolve(id + "-" + again);
    }
    return create(path);
  }

  /**
   * Makes the folder that was asked for.
   *
   * @throws InputException when it holds something already, or cannot be written
   */
  public static RunDirectory at(Path path) {
    if (Files.isDirectory(path) && !isEmpty(path) || Files.isRegularFile(path)) {
      throw new InputException(
          "--run-dir %s: there is something in it already, expected a new or empty folder"
              .formatted(path));
    }
    return create(path);
  }

  /**
   * The job as it is run, with every change of the command line, but without paths and addresses
   * that mean something on this machine alone.
   */
  public Path job() {
    return path.resolve("job.json");
  }

  /** One JSON object per line and event. */
  public Path events() {
    return path.resolve("events.jsonl");
  }

  /** A line per epoch: number, seconds of training, training loss, test accuracy. */
  public Path epochs() {
    return path.resolve("epochs.log");
  }

  /** What every member did when; only when the job asks for it. */
  public Path timeline() {
    return path.resolve("timeline.json");
  }

  /** What came out. */
  public Path summary() {
    return path.resolve("summary.json");
  }

  /** The trained network, as its engine saves it. */
  public Path model() {
    return path.resolve("model.zip");
  }

  /** True when it is there. */
  public boolean hasModel() {
    return Files.exists(model());
  }

  /** The full log of this JVM. */
  public Path log() {
    return path.resolve("run.log");
  }

  /** What a child process said, for example {@code logs/worker-1.log}. */
  public Path log(String process) {
    return path.resolve("logs").resolve(process + ".log");
  }

  /**
   * What members prove with that they are of this run; where the job file names no other one. Its
   * owner alone can read it.
   */
  public Path secret(JobConfig job) {
    return job.cluster().secretFile().map(Path::of).orElseGet(() -> path.resolve(SECRET));
  }

  /** Where servers keep checkpoints unless the job file says otherwise. */
  public Path checkpoints() {
    return path.resolve("checkpoints");
  }

  /** The job, with checkpoints in this folder unless it says where. */
  public JobConfig keepCheckpoints(JobConfig job) {
    if (job.checkpoint().directory().isPresent()) {
      return job;
    }
    JsonObject json = job.json().copy();
    json.getJsonObject("checkpoint").put("directory", checkpoints().toString());
    return JobConfig.read(job.origin(), json);
  }

  /** Writes a JSON file of this folder. */
  public void write(Path file, JsonObject json) {
    try {
      Files.writeString(file, json.encodePrettily() + System.lineSeparator());
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": could not be written: " + e.getMessage(), e);
    }
  }

  private static RunDirectory create(Path path) {
    try {
      Files.createDirectories(path.resolve("logs"));
      return new RunDirectory(path);
    } catch (IOException e) {
      throw new InputException(
          "%s: the run's folder cannot be made here; choose another with --run-dir DIR"
              .formatted(path),
          e);
    }
  }

  private static boolean isEmpty(Path path) {
    try (Stream<Path> files = Files.list(path)) {
      return files.findAny().isEmpty();
    } catch (IOException e) {
      return false;
    }
  }
}
