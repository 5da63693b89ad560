package io.vertigrad.verticles;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.internal.job.VerticleJob;
import io.vertigrad.internal.server.ServerMember;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;

/**
 * One parameter server of a job; its configuration is the job file.
 *
 * <p>Deployed when it was admitted and its shard takes frames: a missing data file, an unknown
 * model or a coordinator's no fails the deployment with its message. Undeploying writes a last
 * checkpoint, where the job file asks for checkpoints, and leaves.
 */
public final class ParameterServerVerticle extends VerticleBase {

  private ServerMember member;

  @Override
  public Future<?> start() {
    return VerticleJob.read(vertx, config()).compose(this::enrol);
  }

  @Override
  public Future<?> stop() {
    return member == null ? Future.succeededFuture() : member.leave();
  }

  private Future<Void> enrol(JobConfig job) {
    FrameCodecs.register(vertx.eventBus());
    member = new ServerMember(vertx, context, job);
    return member.enrol();
  }
}
