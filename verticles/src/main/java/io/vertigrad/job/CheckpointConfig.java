package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.nio.file.Path;
import java.util.Optional;

/**
 * When a job's state is written, and where.
 *
 * @param every updates between two checkpoints; 0 for none
 * @param keep how many checkpoints of each member are kept
 * @param directory where they are written; empty for the run's own folder
 */
public record CheckpointConfig(long every, int keep, Optional<Path> directory) {

  static CheckpointConfig read(Settings section) {
    CheckpointConfig config =
        new CheckpointConfig(
            section.longInteger("every", 0, 0, Long.MAX_VALUE),
            section.integer("keep", 3, 1, 1000),
            section.path("directory"));
    section.refuseUnknown();
    return config;
  }

  /**
   * Tells whether checkpoints are written while the job runs.
   *
   * @return false when only an orderly stop writes one
   */
  public boolean isOn() {
    return every > 0;
  }
}
