package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import java.util.Locale;

/** What a role is called on the command line and in logs. */
public final class RoleName {

  /** What a worker of a job with a pipeline is called. */
  public static final String STAGE = "stage";

  private RoleName() {}

  /** Returns what a role is called in a job: its workers are stages where there is a pipeline. */
  public static String of(JobConfig job, Role role) {
    return role == Role.WORKER && job.pipeline().isPresent() ? STAGE : role.lower();
  }

  /** Returns the role that a name stands for. */
  public static Role role(String name) {
    return name.equals(STAGE) ? Role.WORKER : Role.valueOf(name.toUpperCase(Locale.ROOT));
  }
}
