package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.util.Optional;

/**
 * Which run of a job this is.
 *
 * @param id name of the run, under which its checkpoints are kept; empty for one that the
 *     coordinator makes up
 * @param resumes how many coordinators this run has had before
 */
public record RunConfig(Optional<String> id, int resumes) {

  /** More admissions of one rank than one coordinator of a run gives. */
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
   * Tells members that this run's coordinator has admitted from those of the coordinators before.
   *
   * @return the incarnation of the first member of each rank
   */
  public int firstIncarnation() {
    return resumes * ADMISSIONS;
  }
}
