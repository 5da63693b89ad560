package io.vertigrad.verticles;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.internal.evaluation.EvaluatorMember;
import io.vertigrad.internal.exchange.ContextBridge;
import io.vertigrad.internal.job.VerticleJob;
import io.vertigrad.internal.membership.LeaveReason;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The evaluator of a job; its configuration is the job file.
 *
 * <p>Its deployment completes when the evaluator is admitted. It publishes {@code Evaluated}
 * events. It answers the command {@code evaluate} with {@code version}, {@code samples}, {@code
 * loss}, {@code accuracy} in percent and {@code parametersHash} of a test on the whole test set.
 */
public final class EvaluatorVerticle extends VerticleBase {

  private static final Logger LOG = LoggerFactory.getLogger(EvaluatorVerticle.class);

  private final Promise<Void> left = Promise.promise();
  private EvaluatorMember member;

  @Override
  public Future<?> start() {
    return VerticleJob.read(vertx, config()).compose(this::enrol);
  }

  @Override
  public Future<?> stop() {
    if (member == null) {
      return Future.succeededFuture();
    }
    member.stop();
    return left.future();
  }

  private Future<?> enrol(JobConfig job) {
    if (job.stagesTest()) {
      throw new IllegalArgumentException(
          ("%s: has no evaluator, because the stages test the model themselves; for one, set"
                  + " pipeline.evaluation to \"assembled\"")
              .formatted(job.origin()));
    }
    FrameCodecs.register(vertx.eventBus());
    member = new EvaluatorMember(vertx, job);
    ContextBridge.to(context, member.start())
        .transform(result -> depart(result.cause()))
        .onComplete(left);
    return member.admitted();
  }

  private Future<Void> depart(Throwable failure) {
    LeaveReason reason =
        failure == null ? LeaveReason.STOPPED : LeaveReason.of("evaluator", failure);
    // Before admission the deployment fails with the reason.
    if (failure != null && !member.failAdmission(failure)) {
      LOG.error("evaluator {}", reason, LeaveReason.traced(failure));
    }
    return member.leave(reason).otherwiseEmpty();
  }
}
