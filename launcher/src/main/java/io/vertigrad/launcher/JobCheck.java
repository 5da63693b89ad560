package io.vertigrad.launcher;

import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.cluster.ClusterStart;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.training.SavedModel;

/**
 * Finds what is wrong with a job before a folder is made, a port opened or a process started. It
 * trains nothing and keeps nothing.
 */
final class JobCheck {

  private static final ClassLoader LOADER = JobCheck.class.getClassLoader();

  private JobCheck() {}

  /** The job with its samples counted, once its model's name and options were checked. */
  static JobConfig counted(JobConfig job) {
    job.checkModel();
    return job.counted(LOADER);
  }

  /**
   * Looks for the device, certificates and data that those who start here will use, and whether the
   * loss takes what the data have.
   */
  static void files(JobConfig job, LocalMembers roles) {
    roles.checkDevice(job);
    ClusterStart.check(job.cluster());
    if (roles.servers() + roles.workers() > 0) {
      DatasetProvider.check(job.data(), Split.TRAIN, LOADER);
    }
    DatasetProvider.check(job.data(), Split.TEST, LOADER);
    job.checkTargets(Split.TEST, LOADER);
    if (roles.servers() + roles.workers() > 0) {
      SavedModel.checkStart(job);
    }
  }
}
