package io.vertigrad.internal.worker;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.job.Epochs;
import java.util.Optional;

/** Training plans for tests. */
final class TrainingPlans {

  private TrainingPlans() {}

  /** Returns a plan without epochs, without a magnitude limit, overlap and replicas. */
  static TrainingPlan of(
      long job,
      PartitionPlan partitions,
      DataType type,
      Compression compression,
      double clipNorm,
      long lastVersion,
      boolean lockstep) {
    return new TrainingPlan(
        job,
        partitions,
        type,
        compression,
        Optional.empty(),
        clipNorm,
        lastVersion,
        lockstep,
        Epochs.NONE,
        Float.MAX_VALUE,
        false,
        false,
        "test");
  }
}
