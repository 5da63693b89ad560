package io.vertigrad.launcher.doctor;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.LocalMembers;
import io.vertigrad.training.SavedModel;
import java.util.List;
import java.util.OptionalLong;

/**
 * Says how much heap a job's members need, in one JVM and in processes. It builds a model that
 * comes from a file, and fails when that does not fit the job. Of one whose size is not known
 * without building it, and where data or engine are missing, it says nothing.
 */
final class JobMemoryCheck implements Check {

  private static final String NAME = "job memory";

  private final JobConfig job;
  private final long heap;

  JobMemoryCheck(JobConfig job) {
    this(job, Runtime.getRuntime().maxMemory());
  }

  /** Creates the check for a heap of this many bytes. */
  JobMemoryCheck(JobConfig job, long heap) {
    this.job = job;
    this.heap = heap;
  }

  @Override
  public List<CheckResult> run() {
    JobConfig counted;
    try {
      job.checkModel();
      counted = job.counted(getClass().getClassLoader());
      DatasetProvider.open(job.data(), Split.TEST, getClass().getClassLoader());
    } catch (IllegalArgumentException | SettingsException | DataException others) {
      return List.of();
    }
    OptionalLong parameters;
    try {
      parameters = SavedModel.checkStart(counted);
    } catch (IllegalArgumentException | SettingsException | DataException unfit) {
      return List.of(CheckResult.fail("model", unfit.getMessage()));
    }
    if (parameters.isEmpty()) {
      return List.of();
    }
    LocalMembers all = LocalMembers.of(counted);
    MemoryEstimate together = new MemoryEstimate(counted, all, parameters.getAsLong(), false);
    MemoryEstimate apart = new MemoryEstimate(counted, all, parameters.getAsLong(), true);
    String needed = together.describe() + "; with --processes " + apart.describe();
    return List.of(
        together
            .shortage(heap)
            .map(why -> CheckResult.warn(NAME, apart.describe(), why))
            .orElse(CheckResult.ok(NAME, needed)));
  }
}
