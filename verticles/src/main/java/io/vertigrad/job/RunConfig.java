package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.util.Optional;

/**
 * Identifies a run of a job.
 *
 * @param id name of the run, under which its checkpoints are kept; empty to let the coordinator
 *     choose one
 * @param resumes number of earlier coordinators of this run
 */
public record RunConfig(Optional<String> id, int resumes) {

  /** Incarnations reserved for each coordinator: more than it ever gives to one rank. */
  public static final int ADMISSIONS = 10_000;

  private static final int MOST_RESUMES = 1000;

  static RunConfig read(Settings section) {
    String id = section.string("id", "");
    RunConfig config =
        new RunConfig(
            id.isBlank() ? Optional.empty() : Optional.of(id),
            section.integer("resumes", 0, 0, MOST_RESUMES));
    section.refuseUnknown();
    return config;
  }

  /**
   * Returns the first incarnation of each rank. It distinguishes the members that this run's
   * coordinator admits from those that earlier coordinators admitted.
   *
   * @return the incarnation of the first member of each rank
   */
  public int firstIncarnation() {
    return resumes * ADMISSIONS;
  }
}
