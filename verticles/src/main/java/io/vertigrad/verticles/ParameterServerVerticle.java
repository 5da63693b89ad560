package io.vertigrad.verticles;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.internal.host.StrategyService.MovedMember;
import io.vertigrad.internal.job.VerticleJob;
import io.vertigrad.internal.server.ServerMember;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import java.util.Optional;

/**
 * One parameter server of a job; its configuration is the job file.
 *
 * <p>Its deployment completes when the server is admitted and its shard accepts frames. The
 * deployment fails with a message if a data file is missing, the model is unknown or the
 * coordinator refuses it. Undeploying writes a last checkpoint, if the job file asks for
 * checkpoints, and leaves.
 */
public final class ParameterServerVerticle extends VerticleBase {

  private final Optional<MovedMember> session;
  private ServerMember member;

  /** Creates a server that joins the job by itself. */
  public ParameterServerVerticle() {
    this(Optional.empty());
  }

  /** Creates a server that runs beside its strategy, for one in another JVM. */
  ParameterServerVerticle(Optional<MovedMember> session) {
    this.session = session;
  }

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
    member = new ServerMember(vertx, context, job, session);
    return member.join();
  }
}
