package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.ControlAnswer.Admitted;
import io.vertigrad.internal.membership.ControlAnswer.Refused;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.ReplyException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One join, repeated until a coordinator admits or refuses it, or its time limit has passed. */
final class JoinAttempt {

  private static final Logger LOG = LoggerFactory.getLogger(JoinAttempt.class);
  private static final long ANSWER_MILLIS = 1_000;
  private static final long RETRY_MILLIS = 100;

  /**
   * Failure code of a process that requires the job's secret, for a sender that has not proved it.
   */
  private static final int NOT_PROVED = 403;

  private final Vertx vertx;
  private final CoordinatorRequests line;
  private final JobConfig job;
  private final JoinRequest request;
  private final Supplier<String> over;
  private final Promise<Admitted> answer = Promise.promise();
  private final long silenceSeconds;
  private final long beganNanos;
  private boolean told;

  /**
   * Creates an attempt that has not started yet.
   *
   * @param over supplies the reason when the job has ended meanwhile, or null
   */
  JoinAttempt(
      Vertx vertx,
      CoordinatorRequests line,
      JobConfig job,
      JoinRequest request,
      Supplier<String> over) {
    this.line = line;
    this.vertx = vertx;
    this.job = job;
    this.request = request;
    this.over = over;
    // A former member may hold what nobody else has, so it keeps asking for longer.
    silenceSeconds =
        request.before().isPresent()
            ? Math.max(job.workers().waitSeconds(), job.exchange().orphanSeconds())
            : job.workers().waitSeconds();
    beganNanos = System.nanoTime();
  }

  /** Sends the request; completes with the admission or fails with a {@link JoinException}. */
  Future<Admitted> answer() {
    attempt();
    return answer.future();
  }

  private void attempt() {
    line.request(request, ANSWER_MILLIS).onSuccess(this::heard).onFailure(this::unheard);
  }

  private void heard(ControlAnswer heard) {
    if (heard instanceof Admitted admitted) {
      answer.complete(admitted);
    } else if (!(heard instanceof Refused refused)) {
      answer.fail(new JoinException("the coordinator's answer to a join makes no sense: " + heard));
    } else if (refused.retry()) {
      tellOnce(refused.why());
      again(JoinException.refused(refused.why()), job.workers().waitSeconds());
    } else if (refused.late()) {
      answer.fail(JoinException.late(refused.why()));
    } else {
      answer.fail(JoinException.refused(refused.why()));
    }
  }

  /**
   * Handles a failed request. A message without the job's secret never reaches the coordinator, so
   * that failure is final.
   */
  private void unheard(Throwable silence) {
    if (silence instanceof ReplyException refused && refused.failureCode() == NOT_PROVED) {
      answer.fail(JoinException.refused(refused.getMessage()));
    } else {
      again(new JoinException(unanswered(silence)), silenceSeconds);
    }
  }

  /** Returns the reason of the failure; a malformed answer has its own message. */
  private String unanswered(Throwable silence) {
    return silence instanceof IllegalArgumentException ? silence.getMessage() : nobody();
  }

  private void tellOnce(String refused) {
    if (!told) {
      told = true;
      LOG.warn("waits up to {} s for a place: {}", job.workers().waitSeconds(), refused);
    }
  }

  private void again(JoinException why, long limitSeconds) {
    if (over.get() != null) {
      answer.fail(new JoinException("the job is over: " + over.get()));
    } else if (System.nanoTime() - beganNanos > TimeUnit.SECONDS.toNanos(limitSeconds)) {
      answer.fail(why);
    } else {
      vertx.setTimer(RETRY_MILLIS, id -> attempt());
    }
  }

  private String nobody() {
    return ("no coordinator answered on %s within %d s (workers.waitSeconds): check that it runs,"
            + " that its job file has the same name (job: \"%s\"), that this node joined its"
            + " cluster (cluster.host: %s, cluster.members: %s), and that both ends have"
            + " certificates of one authority, or neither has any (cluster.certificate: %s)")
        .formatted(
            job.addresses().coordinator(),
            job.workers().waitSeconds(),
            job.addresses().job(),
            job.cluster().host(),
            job.cluster().members(),
            job.cluster().certificate().orElse("none"));
  }
}
