package io.vertigrad.verticles;

import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.compute.Divergence;
import io.vertigrad.internal.exchange.ContextBridge;
import io.vertigrad.internal.host.StrategyService.MovedMember;
import io.vertigrad.internal.job.VerticleJob;
import io.vertigrad.internal.membership.LeaveReason;
import io.vertigrad.internal.worker.WorkerMember;
import io.vertigrad.internal.worker.WorkerThread;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException.DivergedException;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One worker of a job; its configuration is the job file.
 *
 * <p>Its deployment completes when the worker is admitted. The deployment fails with a message if a
 * data file is missing, the model is unknown or the coordinator refuses it. Undeploying ends its
 * thread.
 */
public class WorkerVerticle extends VerticleBase {

  private static final Logger LOG = LoggerFactory.getLogger(WorkerVerticle.class);
  private static final long REPORT_MILLIS = 250;

  /**
   * Time for which a worker started for a missing rank waits for admission: after that, another
   * worker may have taken the rank.
   */
  private static final int ADOPTED_WAIT_SECONDS = 10;

  private final Promise<Void> left = Promise.promise();
  private final Optional<MovedMember> session;
  private boolean adopted;
  private WorkerMember member;
  private long reportTimer;

  /** Creates a worker that joins the job by itself. */
  public WorkerVerticle() {
    this(Optional.empty());
  }

  /** Creates a worker that runs beside its strategy, for one in another JVM. */
  WorkerVerticle(Optional<MovedMember> session) {
    this.session = session;
  }

  @Override
  public final Future<?> start() {
    return VerticleJob.read(vertx, config()).compose(this::enrol);
  }

  @Override
  public final Future<?> stop() {
    if (member == null) {
      return Future.succeededFuture();
    }
    member.stop();
    return left.future();
  }

  /** Creates the thread that does the work. */
  WorkerThread thread(JobConfig job, WorkerMember admitted) {
    return new WorkerThread(vertx, job, admitted, session);
  }

  private Future<?> enrol(JobConfig job) {
    FrameCodecs.register(vertx.eventBus());
    member = new WorkerMember(vertx, job, adopted, () -> adopt(job), session);
    WorkerThread thread = thread(job, member);
    reportTimer = vertx.setPeriodic(REPORT_MILLIS, timer -> member.report("trains"));
    ContextBridge.to(context, thread.start())
        .transform(result -> depart(job, result.result(), result.cause()))
        .onComplete(left);
    return member.admitted();
  }

  /** Starts another worker in this process, for a rank without a member. */
  private void adopt(JobConfig job) {
    WorkerVerticle beside = another();
    beside.adopted = true;
    JsonObject config = job.json();
    config.getJsonObject("workers").put("waitSeconds", ADOPTED_WAIT_SECONDS);
    vertx
        .deployVerticle(beside, new DeploymentOptions().setConfig(config))
        .onFailure(
            why -> LOG.info("no other worker beside {}: {}", member.name(), why.getMessage()));
  }

  /** Creates a verticle of the same kind. */
  WorkerVerticle another() {
    return new WorkerVerticle();
  }

  private Future<Void> depart(JobConfig job, Boolean finished, Throwable failure) {
    vertx.cancelTimer(reportTimer);
    LeaveReason reason =
        finished == null
            ? failed(job, failure)
            : finished ? LeaveReason.FINISHED : LeaveReason.STOPPED;
    member.report(reason.toString());
    // Before admission the deployment fails with the reason.
    if (failure != null && !member.failAdmission(failure)) {
      LOG.error("{} {}", member.name(), reason, LeaveReason.traced(failure));
    }
    return member.leave(reason).otherwiseEmpty();
  }

  private LeaveReason failed(JobConfig job, Throwable failure) {
    LeaveReason reason = LeaveReason.of(member.name(), failure);
    return failure instanceof DivergedException
        ? new LeaveReason(
            reason.kind(),
            reason.detail() + ". " + Divergence.remedy(job.json(), job.workers().count()))
        : reason;
  }
}
