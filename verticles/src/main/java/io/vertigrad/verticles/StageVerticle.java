package io.vertigrad.verticles;

import io.vertigrad.internal.pipeline.StageThread;
import io.vertigrad.internal.worker.WorkerMember;
import io.vertigrad.internal.worker.WorkerThread;
import io.vertigrad.job.JobConfig;

/**
 * One stage of a job's model; its configuration is the job file, which has a {@code pipeline}.
 *
 * <p>It joins as a worker: its rank determines its stage and replica. As for a worker, the
 * deployment completes when it is admitted.
 */
public final class StageVerticle extends WorkerVerticle {

  @Override
  WorkerVerticle another() {
    return new StageVerticle();
  }

  @Override
  WorkerThread thread(JobConfig job, WorkerMember admitted) {
    if (job.pipeline().isEmpty()) {
      throw new IllegalArgumentException(
          job.origin() + ": has no pipeline.stages and no pipeline.cuts, so there are no stages");
    }
    return new StageThread(vertx, job, admitted);
  }
}
