package io.vertigrad.launcher.deploy;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import java.util.Locale;

/** Names the roles as they appear on the command line and in logs. */
public final class RoleName {

  /** The name of a worker in a job with a pipeline. */
  public static final String STAGE = "stage";

  private RoleName() {}

  /** Returns the name of a role in a job: its workers are stages when it has a pipeline. */
  public static String of(JobConfig job, Role role) {
    return role == Role.WORKER && job.pipeline().isPresent() ? STAGE : role.lower();
  }

  /** Returns the role that a name stands for. */
  public static Role role(String name) {
    return name.equals(STAGE) ? Role.WORKER : Role.valueOf(name.toUpperCase(Locale.ROOT));
  }
}
