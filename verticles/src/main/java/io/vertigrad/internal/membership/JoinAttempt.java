package io.vertigrad.internal.membership;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.Message;
import io.vertx.core.json.JsonObject;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One join, repeated until a coordinator answers, there is a place, or its time is over. */
final class JoinAttempt {

  private static final Logger LOG = LoggerFactory.getLogger(JoinAttempt.class);
  private static final long ANSWER_MILLIS = 1_000;
  private static final long RETRY_MILLIS = 100;

  private final Vertx vertx;
  private final JobConfig job;
  private final JsonObject request;
  private final Supplier<String> over;
  private final Promise<JsonObject> answer = Promise.promise();
  private final long deadlineNanos;
  private boolean told;

  /**
   * A join attempt that has not been made yet.
   *
   * @param over why the job ended meanwhile, or null
   */
  JoinAttempt(Vertx vertx, JobConfig job, JoinRequest request, Supplier<String> over) {
    this.vertx = vertx;
    this.job = job;
    this.request = request.toJson();
    this.over = over;
    deadlineNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(job.workers().waitSeconds());
  }

  /** Knocks; completes with the coordinator's yes, or fails with a {@link JoinException}. */
  Future<JsonObject> answer() {
    attempt();
    return answer.future();
  }

  private void attempt() {
    DeliveryOptions options = new DeliveryOptions().setSendTimeout(ANSWER_MILLIS);
    vertx
        .eventBus()
        .<JsonObject>request(job.addresses().coordinator(), request, options)
        .map(Message::body)
        .onSuccess(this::heard)
        .onFailure(silence -> again(nobody()));
  }

  private void heard(JsonObject body) {
    if (body.containsKey("admitted")) {
      answer.complete(body);
    } else if (body.getBoolean("retry", false)) {
      tellOnce(body.getString("refused"));
      again(body.getString("refused"));
    } else if (body.getBoolean("late", false)) {
      answer.fail(JoinException.late(body.getString("refused")));
    } else {
      answer.fail(new JoinException(body.getString("refused")));
    }
  }

  private void tellOnce(String refused) {
    if (!told) {
      told = true;
      LOG.warn("waits up to {} s for a place: {}", job.workers().waitSeconds(), refused);
    }
  }

  private void again(String why) {
    if (over.get() != null) {
      answer.fail(new JoinException("the job is over: " + over.get()));
    } else if (System.nanoTime() > deadlineNanos) {
      answer.fail(new JoinException(why));
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
