package io.vertigrad.verticles.coordinator;

import io.vertigrad.verticles.job.JobConfig;

/** How the process that a member lives in is called, for people and for whoever started it. */
final class NodeName {

  private NodeName() {}

  /** A process of this machine. */
  static String of(JobConfig job, long pid) {
    return "%s pid %d".formatted(job.cluster().host(), pid);
  }
}
