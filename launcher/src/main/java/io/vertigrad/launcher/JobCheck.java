package io.vertigrad.launcher;

import io.vertigrad.cluster.ClusterStart;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DataPartition;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.doctor.MemoryEstimate;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.training.SavedModel;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Finds what is wrong with a job before a folder is made, a port opened or a process started. It
 * trains nothing and writes no file.
 */
final class JobCheck {

  private static final ClassLoader LOADER = JobCheck.class.getClassLoader();

  private JobCheck() {}

  /**
   * Returns the job with its number of samples filled in, after checking the model's name and
   * options.
   */
  static JobConfig counted(JobConfig job) {
    job.checkModel();
    return job.counted(LOADER);
  }

  /**
   * Checks the device, the certificates and the data that the members started here will use. It
   * also checks that the loss accepts the data's targets and that the members fit into the heap.
   *
   * @param processes true when each member gets its own JVM, with a heap as large as this one's
   * @return the memory that the members need, when it is more than half of the heap
   * @throws InputException when it is more than the heap
   */
  static Optional<String> files(JobConfig job, LocalMembers roles, boolean processes) {
    // Without a worker the evaluator computes on the processor (Placement.here).
    if (roles.workers() > 0) {
      roles.checkDevice(job);
    }
    ClusterStart.check(job.cluster());
    if (roles.workers() > 0) {
      DatasetProvider.check(job.data(), Split.TRAIN, LOADER);
      job.workers().partition().ifPresent(how -> divide(job, how));
    }
    DatasetProvider.check(job.data(), Split.TEST, LOADER);
    job.checkTargets(Split.TEST, LOADER);
    OptionalLong parameters =
        roles.servers() + roles.workers() > 0 ? SavedModel.checkStart(job) : OptionalLong.empty();
    if (parameters.isEmpty()) {
      return Optional.empty();
    }
    long heap = Runtime.getRuntime().maxMemory();
    MemoryEstimate estimate = new MemoryEstimate(job, roles, parameters.getAsLong(), processes);
    estimate
        .shortage(heap)
        .ifPresent(
            why -> {
              throw new InputException("%s: %s".formatted(job.origin(), why));
            });
    return estimate.shortage(heap / 2).map(tight -> "memory: " + estimate.describe());
  }

  /** Divides the training set as the workers will. */
  private static void divide(JobConfig job, DataPartition how) {
    Dataset data = DatasetProvider.open(job.data(), Split.TRAIN, LOADER);
    try {
      how.divide(data, job.workers().count(), job.seed());
    } catch (DataException impossible) {
      throw new InputException("%s: %s".formatted(job.origin(), impossible.getMessage()));
    }
  }

  /**
   * Returns the fingerprints of the data and the model files of this machine: all members must have
   * the same. Without workers here, the training data may be missing.
   *
   * @param missing receives a line for people if they are
   */
  static Map<String, DataFingerprint> fingerprints(
      JobConfig job, LocalMembers roles, Consumer<String> missing) {
    try {
      return job.fingerprints(EnumSet.allOf(Split.class), LOADER);
    } catch (DataException none) {
      if (roles.workers() > 0) {
        throw none;
      }
      Map<String, DataFingerprint> test = job.fingerprints(Set.of(Split.TEST), LOADER);
      missing.accept(
          (job.workers().ownData()
                  ? "no training data here: those of the first that joins have the job's form (%s)"
                  : "no training data here: all members must have those of the first that joins (%s)")
              .formatted(none.getMessage()));
      return test;
    }
  }
}
