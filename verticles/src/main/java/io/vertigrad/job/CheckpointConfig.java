package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.nio.file.Path;
import java.util.Optional;

/**
 * When a job's state is written, and where.
 *
 * @param every updates between two checkpoints; 0 to go by {@code seconds}
 * @param seconds least time between two checkpoints where {@code every} is 0; 0 for none at all
 * @param keep how many checkpoints of each member are kept
 * @param directory where they are written; empty for a folder of the run
 */
public record CheckpointConfig(long every, double seconds, int keep, Optional<Path> directory) {

  private static final double SECONDS = 10;
  private static final double MOST_SECONDS = 86_400;

  /** Whoever names a folder wants checkpoints in it. */
  static CheckpointConfig read(Settings section) {
    long every = section.longInteger("every", 0, 0, Long.MAX_VALUE);
    Optional<Path> directory = section.path("directory");
    double otherwise = directory.isPresent() ? SECONDS : 0;
    CheckpointConfig config =
        new CheckpointConfig(
            every,
            section.has("seconds")
                ? section.number("seconds", otherwise, 0, MOST_SECONDS)
                : otherwise,
            section.integer("keep", 3, 1, 1000),
            directory);
    section.refuseUnknown();
    return config;
  }

  /**
   * Tells whether checkpoints are written while the job runs.
   *
   * @return false when only an orderly stop writes one
   */
  public boolean isOn() {
    return every > 0 || isTimed();
  }

  /**
   * Tells whether they are written by time, so that they cost little whatever the model.
   *
   * @return false when they are written after so many versions, or not at all
   */
  public boolean isTimed() {
    return every == 0 && seconds > 0;
  }

  /**
   * Returns where the checkpoints of a run lie.
   *
   * @param job name of the job
   * @param run name of the run
   * @return the folder that was asked for, or {@code checkpoints/JOB/RUN}
   */
  public Path directoryOf(String job, String run) {
    return directory.orElse(Path.of("checkpoints", job, run));
  }
}
