package io.vertigrad.launcher.run;

import io.vertigrad.compute.Device;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.json.JsonObject;

/** The members that run in processes of their own, among those that start on this machine. */
public enum Placement {
  /** None: all run in the coordinator's JVM. */
  ONE_JVM(false),

  /** Servers and workers. The evaluator runs in the coordinator's JVM. */
  PROCESSES(true),

  /** All of them. */
  ALL_PROCESSES("all");

  private final Object json;

  Placement(Object json) {
    this.json = json;
  }

  /** Returns whether servers and workers run in processes of their own. */
  public boolean apart() {
    return this != ONE_JVM;
  }

  /** Returns those of the members that run in processes of their own. */
  public LocalMembers apart(LocalMembers members) {
    return switch (this) {
      case ONE_JVM -> new LocalMembers(0, 0, 0);
      case PROCESSES -> new LocalMembers(members.servers(), members.workers(), 0);
      case ALL_PROCESSES -> members;
    };
  }

  /** Returns those of the members that run in the coordinator's JVM. */
  public LocalMembers here(LocalMembers members) {
    LocalMembers apart = apart(members);
    return new LocalMembers(
        members.servers() - apart.servers(),
        members.workers() - apart.workers(),
        members.evaluators() - apart.evaluators());
  }

  /**
   * Returns the job as the coordinator's JVM runs it. It computes on the processor if no worker
   * runs there: a process that only tests would hold 0.7 GiB of a GPU.
   *
   * @param members those that start on this machine
   */
  public JobConfig here(LocalMembers members, JobConfig job) {
    if (here(members).workers() > 0 || !job.workers().device().gpu()) {
      return job;
    }
    JsonObject json = job.json();
    json.getJsonObject("workers").put("device", Device.PROCESSOR.toString());
    return JobConfig.read(job.origin(), json);
  }

  /** Returns the value that stands for it in a file. */
  Object toJson() {
    return json;
  }

  /**
   * Returns the constant that a value in a file stands for.
   *
   * @throws IllegalArgumentException when it stands for none
   */
  static Placement fromJson(Object value) {
    for (Placement placement : values()) {
      if (placement.json.equals(value)) {
        return placement;
      }
    }
    throw new IllegalArgumentException(
        "processes: found %s, expected false, true or \"all\"".formatted(value));
  }
}
