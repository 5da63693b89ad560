package io.vertigrad.internal.membership;

import io.vertigrad.job.JobConfig;

/** How the process that a member lives in is called, for people and for whoever started it. */
public final class NodeName {

  private NodeName() {}

  /** A process of this machine. */
  public static String of(JobConfig job, long pid) {
    return "%s pid %d".formatted(job.cluster().host(), pid);
  }
}
