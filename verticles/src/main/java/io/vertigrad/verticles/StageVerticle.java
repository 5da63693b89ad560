package io.vertigrad.verticles;

import io.vertigrad.internal.pipeline.StageThread;
import io.vertigrad.internal.worker.WorkerMember;
import io.vertigrad.internal.worker.WorkerThread;
import io.vertigrad.job.JobConfig;

/**
 * One stage of a job's model; its configuration is the job file, which has a {@code pipeline}.
 *
 * <p>Joins as a worker: its rank says which stage of which replica it is. Deployed when it was
 * admitted, as a worker is.
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
