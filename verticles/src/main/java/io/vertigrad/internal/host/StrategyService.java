package io.vertigrad.internal.host;

import io.vertigrad.internal.membership.CoordinatorClient.AdmissionSource;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the member of another JVM beside its strategy verticle. It handles what a {@link
 * StrategyLink} sends, in one session at a time; a new session ends the previous one. Belongs to
 * the verticle's context.
 */
public final class StrategyService {

  private static final Logger LOG = LoggerFactory.getLogger(StrategyService.class);
  private static final long WATCH_MILLIS = 250;
  private static final int CLOSED_CODE = 1;
  private static final String UNDEPLOYED = "its strategy verticle is being undeployed";

  private final Vertx vertx;
  private final JobConfig job;
  private final StrategyHost host;
  private final Function<MovedMember, Deployable> members;
  private MessageConsumer<JsonObject> requests;
  private MovedMember session;
  private Future<?> ended = Future.succeededFuture();
  private boolean closed;

  private StrategyService(
      Vertx vertx, JobConfig job, StrategyHost host, Function<MovedMember, Deployable> members) {
    this.vertx = vertx;
    this.job = job;
    this.host = host;
    this.members = members;
  }

  /**
   * Listens at the host's address, in a cluster.
   *
   * @param members creates the verticle of a member that runs here
   * @return completes when members can find it; fails if another strategy verticle is there
   */
  public static Future<StrategyService> open(
      Vertx vertx, JobConfig job, StrategyHost host, Function<MovedMember, Deployable> members) {
    return StrategyLink.isAt(vertx, host.address(), job.exchange().evictMillis())
        .compose(
            there -> {
              if (there) {
                return Future.failedFuture(host.takenMessage());
              }
              StrategyService service = new StrategyService(vertx, job, host, members);
              service.requests = vertx.eventBus().consumer(host.address(), service::handle);
              return service.requests.completion().map(service);
            });
  }

  /** Closes the service. The member looks for another strategy verticle at the address. */
  public Future<?> close() {
    closed = true;
    return Future.join(requests.unregister(), end(UNDEPLOYED));
  }

  private void handle(Message<JsonObject> message) {
    JsonObject request = message.body();
    switch (String.valueOf(request.getString(StrategyLink.CALL))) {
      case StrategyLink.HELLO -> message.reply(new JsonObject());
      case StrategyLink.OPEN ->
          open(request.getString(StrategyLink.SESSION))
              .onSuccess(message::reply)
              .onFailure(closing -> message.fail(CLOSED_CODE, closing.getMessage()));
      case StrategyLink.CLOSE -> close(request).onSuccess(message::reply);
      default -> message.reply(answer(request));
    }
  }

  private Future<JsonObject> open(String id) {
    return end("another session has begun")
        .transform(gone -> session == null ? begin(id) : open(id));
  }

  private Future<JsonObject> begin(String id) {
    if (closed) {
      return Future.failedFuture(UNDEPLOYED);
    }
    if (!host.tryTake()) {
      String why =
          "the strategy verticle at %s is used by a member of its own JVM"
              .formatted(host.address());
      LOG.warn("refused: {}", why);
      return Future.succeededFuture(new JsonObject().put(StrategyLink.REFUSED, why));
    }
    session = new MovedMember(vertx, job, host, id);
    LOG.info("{} runs the member of another JVM", host.address());
    session.deploy(members.apply(session), silence -> end(silence));
    return Future.succeededFuture(new JsonObject());
  }

  private JsonObject answer(JsonObject request) {
    return isOfSession(request)
        ? session.answer(request)
        : new JsonObject()
            .put(StrategyLink.ENDED, "it has begun another session, or was restarted");
  }

  private Future<JsonObject> close(JsonObject request) {
    Future<?> gone =
        isOfSession(request)
            ? end("its verticle in another JVM is stopping")
            : Future.succeededFuture();
    return gone.transform(undeployed -> Future.succeededFuture(new JsonObject()));
  }

  private boolean isOfSession(JsonObject request) {
    return session != null && session.id.equals(request.getString(StrategyLink.SESSION));
  }

  private Future<?> end(String why) {
    MovedMember now = session;
    session = null;
    if (now != null) {
      ended = now.undeploy(why).onComplete(gone -> host.release());
    }
    return ended;
  }

  /**
   * A member that runs beside its strategy, for a verticle in another JVM that has joined for it.
   * {@link #next}, {@link #ended} and {@link #onComputed} may be called by any thread.
   */
  public static final class MovedMember implements AdmissionSource {

    private final Vertx vertx;
    private final JobConfig job;
    private final StrategyHost host;
    private final String id;
    private final Promise<String> deployment = Promise.promise();
    private final Promise<Void> undeployed = Promise.promise();
    private volatile Consumer<JsonObject> onComputed = computed -> {};
    private volatile String over;
    private long requestedNanos = System.nanoTime();
    private long watchedNanos = System.nanoTime();
    private long timer;

    private MovedMember(Vertx vertx, JobConfig job, StrategyHost host, String id) {
      this.vertx = vertx;
      this.job = job;
      this.host = host;
      this.id = id;
    }

    /** Returns the strategy verticle that the member uses. */
    public StrategyHost host() {
      return host;
    }

    /** Returns the address at which the member in this JVM receives frames of this session. */
    public String frames() {
      return StrategyLink.frames(host.address(), id);
    }

    @Override
    public Future<JsonObject> next(JsonObject request) {
      long limitSeconds =
          2L * Math.max(job.workers().waitSeconds(), job.exchange().orphanSeconds());
      Promise<JsonObject> next = Promise.promise();
      StrategyLink.ask(
              vertx,
              StrategyLink.admissions(host.address(), id),
              request,
              TimeUnit.SECONDS.toMillis(limitSeconds))
          .onSuccess(next::tryComplete)
          .onFailure(next::tryFail);
      undeployed.future().onFailure(next::tryFail);
      return next.future();
    }

    @Override
    public void ended(String reason) {
      over = reason;
    }

    /** Sets what receives the facts about each gradient that the other JVM has computed. */
    public void onComputed(Consumer<JsonObject> receiver) {
      onComputed = receiver;
    }

    private void deploy(Deployable member, Consumer<String> onSilence) {
      timer = vertx.setPeriodic(WATCH_MILLIS, tick -> watch(onSilence));
      vertx
          .deployVerticle(member, new DeploymentOptions().setConfig(job.json()))
          .onFailure(failure -> ended(String.valueOf(failure.getMessage())))
          .onComplete(deployment);
    }

    /** Reports silence of the other JVM. Time in which this process did not run does not count. */
    private void watch(Consumer<String> onSilence) {
      long now = System.nanoTime();
      if (now - watchedNanos > 4 * WATCH_MILLIS * 1_000_000) {
        requestedNanos = now;
      }
      watchedNanos = now;
      if (now - requestedNanos > job.exchange().evictMillis() * 1_000_000) {
        onSilence.accept("its verticle in another JVM has been silent");
      }
    }

    private JsonObject answer(JsonObject call) {
      requestedNanos = System.nanoTime();
      if (StrategyLink.COMPUTED.equals(call.getString(StrategyLink.CALL))) {
        onComputed.accept(call);
      }
      String reason = over;
      JsonObject status =
          new JsonObject().put(StrategyLink.SERVES, deployment.future().succeeded());
      return reason == null ? status : status.put(StrategyLink.OVER, reason);
    }

    private Future<?> undeploy(String why) {
      vertx.cancelTimer(timer);
      if (!deployment.future().isComplete()) {
        undeployed.tryFail(new ExchangeException(host.address() + ": " + why));
      }
      return deployment.future().compose(vertx::undeploy).otherwiseEmpty();
    }
  }
}
