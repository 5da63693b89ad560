package io.vertigrad.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The times at which a job's state is written, and its folder.
 *
 * @param every updates between two checkpoints; 0 to use {@code seconds}
 * @param seconds shortest time between two checkpoints if {@code every} is 0; 0 for no checkpoints
 * @param keep number of checkpoints to keep per member
 * @param directory folder of the checkpoints; empty for a folder of the run
 */
public record CheckpointConfig(long every, double seconds, int keep, Optional<Path> directory) {

  /** Writing takes at most one part in this many of a member's time. */
  private static final long WRITE_SHARE = 50;

  private static final double SECONDS = 10;
  private static final double MOST_SECONDS = 86_400;

  /** If the section names a folder, timed checkpoints are on by default. */
  static CheckpointConfig read(Settings section) {
    long every = section.longInteger("every", 0, 0, Long.MAX_VALUE);
    Optional<Path> directory = section.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE).path("directory");
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
   * Returns whether checkpoints are written while the job runs.
   *
   * @return false if only an orderly stop writes one
   */
  public boolean isOn() {
    return every > 0 || isTimed();
  }

  /**
   * Returns whether checkpoints are written by time, which limits their cost for any model.
   *
   * @return false if they are written every N versions or not at all
   */
  public boolean isTimed() {
    return every == 0 && seconds > 0;
  }

  /**
   * Returns the time between two timed checkpoints. It is longer than {@code seconds} where writing
   * would take more than 2 % of a member's time.
   *
   * @param writeMillis what the last checkpoint cost the member, in milliseconds
   * @return milliseconds
   */
  public long intervalMillis(long writeMillis) {
    return Math.max(Math.round(1_000 * seconds), WRITE_SHARE * writeMillis);
  }

  /**
   * Returns the folder of a run's checkpoints.
   *
   * @param job name of the job
   * @param run name of the run
   * @return the configured folder, or {@code checkpoints/JOB/RUN}
   */
  public Path directoryOf(String job, String run) {
    return directory.orElse(Path.of("checkpoints", job, run));
  }
}
