package io.vertigrad.internal.membership;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.internal.RecordJson;
import io.vertigrad.job.CheckpointConfig;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;

/**
 * The file beside a run's checkpoints that holds the divisions of all rounds, so that a resumed run
 * repeats them. Its methods block.
 *
 * @param path the file
 */
record DivisionFile(Path path) {

  private static final String NAME = "divisions.json";
  private static final RecordJson JSON = RecordJson.strict((part, key, value) -> false);

  private record Content(List<BatchDivision> divisions) {}

  /**
   * Returns the file of a run.
   *
   * @return empty if the job keeps no checkpoints, or all workers have equal batches
   */
  static Optional<DivisionFile> of(JobConfig job, String run) {
    CheckpointConfig checkpoint = job.checkpoint();
    boolean kept = checkpoint.isOn() || checkpoint.directory().isPresent();
    return Optional.of(checkpoint.directoryOf(job.addresses().job(), run).resolve(NAME))
        .filter(file -> kept && job.workers().balancesSpeed())
        .map(DivisionFile::new);
  }

  /**
   * Reads the divisions.
   *
   * @return empty if there is no file
   * @throws IOException naming the file, if it cannot be read or holds something else
   */
  List<BatchDivision> read() throws IOException {
    if (!Files.exists(path)) {
      return List.of();
    }
    try {
      JsonObject json = new JsonObject(JsonText.read(path));
      return JSON.read(Content.class, json, "divisions of a run").divisions();
    } catch (DecodeException | IllegalArgumentException damaged) {
      throw new IOException(
          "%s is damaged: %s; delete it to divide the rounds anew"
              .formatted(path, damaged.getMessage()),
          damaged);
    }
  }

  /**
   * Returns the divisions of a job, which begin with those in the file.
   *
   * @throws IOException as {@link #read} does, and if they are not of this job
   */
  BatchDivisions divisions(JobConfig job) throws IOException {
    List<BatchDivision> earlier = read();
    try {
      return BatchDivisions.of(job, earlier);
    } catch (IllegalArgumentException other) {
      throw new IOException("%s: %s".formatted(path, other.getMessage()), other);
    }
  }

  /** Writes the divisions to a new file, which then takes the place of the old one. */
  void write(List<BatchDivision> divisions) throws IOException {
    Files.createDirectories(path.toAbsolutePath().getParent());
    Path part = path.resolveSibling(NAME + ".part");
    Files.writeString(
        part,
        JSON.write(new Content(divisions)).encode(),
        StandardOpenOption.CREATE,
        StandardOpenOption.TRUNCATE_EXISTING,
        StandardOpenOption.WRITE,
        StandardOpenOption.SYNC);
    Files.move(part, path, StandardCopyOption.ATOMIC_MOVE);
  }
}
