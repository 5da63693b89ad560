package io.vertigrad.internal.host;

import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.json.JsonObject;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One session of a member with its strategy verticle in another JVM. The member runs there, under
 * admissions that this process gets for it; a {@link StrategyService} is the other end. Messages
 * are JSON over the event bus ({@code docs/reference/control-protocol.md}).
 *
 * <p>A link has one session, and another link begins the next one. May be called by any thread.
 */
public final class StrategyLink {

  /** Key of a request: its name. */
  static final String CALL = "call";

  /** Key of a request: the session id. */
  static final String SESSION = "session";

  /** Key of an answer: why the strategy verticle refuses the request. */
  static final String REFUSED = "refused";

  /** Key of an answer: why the session does not exist any more. */
  static final String ENDED = "ended";

  /** Key of an answer: why the member takes no further part. */
  static final String OVER = "over";

  /** Key of an answer: whether the member has begun. */
  static final String SERVES = "serves";

  static final String HELLO = "hello";
  static final String OPEN = "open";
  static final String PING = "ping";
  static final String COMPUTED = "computed";
  static final String CLOSE = "close";

  private static final Logger LOG = LoggerFactory.getLogger(StrategyLink.class);
  private static final int REFUSED_CODE = 1;
  private static final long ANSWER_MILLIS = 2_000;
  private static final long CLOSE_MILLIS = 10_000;
  private static final long PING_MILLIS = 250;
  private static final long RETRY_MILLIS = 200;
  private static final int ABSENT_PINGS = 2;

  private final Vertx vertx;
  private final JobConfig job;
  private final String member;
  private final String address;
  private final String session = UUID.randomUUID().toString();
  private final Promise<Void> serves = Promise.promise();
  private final Promise<End> ended = Promise.promise();
  private volatile boolean closed;
  private volatile boolean begun;
  private MessageConsumer<JsonObject> admissions;
  private long timer;
  private long answeredNanos;
  private int absent;
  private boolean pingPending;

  /**
   * The end of a session.
   *
   * @param lost true if the other process does not answer any more, so that the member may begin
   *     anew; false if it takes no further part
   */
  public record End(boolean lost, String reason) {}

  /**
   * Creates a link without a session.
   *
   * @param member name of the member for messages
   * @param address address of the strategy verticle
   */
  StrategyLink(Vertx vertx, JobConfig job, String member, String address) {
    this.vertx = vertx;
    this.job = job;
    this.member = member;
    this.address = address;
  }

  /**
   * Returns whether a strategy verticle in another JVM is at an address.
   *
   * @param silenceMillis if there is no answer for this long, the verticle counts as absent,
   *     because its process may be gone
   */
  static Future<Boolean> isAt(Vertx vertx, String address, long silenceMillis) {
    return isAtUntil(vertx, address, System.nanoTime() + silenceMillis * 1_000_000);
  }

  private static Future<Boolean> isAtUntil(Vertx vertx, String address, long limitNanos) {
    return ask(vertx, address, new JsonObject().put(CALL, HELLO), ANSWER_MILLIS)
        .map(true)
        .recover(
            failure -> {
              if (!isAbsent(failure) && System.nanoTime() < limitNanos) {
                return isAtUntil(vertx, address, limitNanos);
              }
              if (!isAbsent(failure)) {
                LOG.warn(
                    "{} does not answer and counts for absent: {}", address, failure.getMessage());
              }
              return Future.succeededFuture(false);
            });
  }

  /** Returns the strategy verticle's address, which also appears in messages. */
  public String address() {
    return address;
  }

  /** Returns the address at which the member receives frames of this session. */
  public String frames() {
    return frames(address, session);
  }

  static String frames(String address, String session) {
    return address + "." + session;
  }

  /** Returns the address at which the member's own process answers requests for admissions. */
  static String admissions(String address, String session) {
    return address + "." + session + ".admissions";
  }

  /** Completes when the session has ended. */
  public Future<End> ended() {
    return ended.future();
  }

  /**
   * Begins the session with the strategy verticle at the address. Waits until one is there, if
   * necessary.
   *
   * @param admit gets the admissions for which the member asks
   * @param stop ends the wait
   * @return completes when the member has begun; fails with a message for the user if it cannot, or
   *     if no strategy verticle is there within five sixths of {@code exchange.deadlineMillis}:
   *     less than others wait for the member
   */
  public Future<Void> open(Function<JsonObject, Future<JsonObject>> admit, BooleanSupplier stop) {
    admissions =
        vertx.eventBus().consumer(admissions(address, session), message -> admit(message, admit));
    ended.future().onComplete(end -> admissions.unregister());
    long limitNanos = System.nanoTime() + absenceMillis() * 1_000_000;
    admissions.completion().onComplete(listening -> open(limitNanos, stop));
    return serves.future();
  }

  private static void admit(
      Message<JsonObject> request, Function<JsonObject, Future<JsonObject>> admit) {
    admit
        .apply(request.body())
        .onSuccess(request::reply)
        .onFailure(refused -> request.fail(REFUSED_CODE, String.valueOf(refused.getMessage())));
  }

  private void open(long limitNanos, BooleanSupplier stop) {
    // A process that has just died may still accept messages: only an answer proves that it is
    // alive.
    ask(vertx, address, new JsonObject().put(CALL, HELLO), ANSWER_MILLIS)
        .compose(there -> ask(vertx, address, request(OPEN), absenceMillis()))
        .onSuccess(
            answer -> {
              if (answer.containsKey(REFUSED)) {
                end(false, answer.getString(REFUSED));
              } else {
                begin();
              }
            })
        .onFailure(
            failure -> {
              if (closed || stop.getAsBoolean()) {
                end(false, "it is stopping");
              } else if (System.nanoTime() > limitNanos) {
                end(false, missing());
              } else {
                LOG.debug("{}: no session with {} yet: {}", member, address, failure.getMessage());
                vertx.setTimer(RETRY_MILLIS, again -> open(limitNanos, stop));
              }
            });
  }

  private long absenceMillis() {
    return job.exchange().deadlineMillis() * 5 / 6;
  }

  private String missing() {
    return ("no strategy verticle has been at %s for %s ms; start it again:"
            + " ./vertigrad io.vertigrad.verticles.StrategyVerticle -cluster -conf FILE")
        .formatted(address, absenceMillis());
  }

  private synchronized void begin() {
    if (ended.future().isComplete()) {
      ask(vertx, address, request(CLOSE), CLOSE_MILLIS);
      return;
    }
    LOG.info("{}: runs in another JVM, beside its strategy at {}", member, address);
    begun = true;
    answeredNanos = System.nanoTime();
    timer = vertx.setPeriodic(1, PING_MILLIS, tick -> ping());
  }

  /** Sends the facts about a gradient that this process has computed. */
  public void computed(JsonObject facts) {
    ask(vertx, address, facts.mergeIn(request(COMPUTED)), job.exchange().evictMillis())
        .onFailure(failure -> end(true, String.valueOf(failure.getMessage())));
  }

  /** Ends the session. Completes when the member in the other JVM has left the job. */
  public Future<?> close() {
    closed = true;
    return end(false, "its verticle is stopping") && begun
        ? ask(vertx, address, request(CLOSE), CLOSE_MILLIS).otherwiseEmpty()
        : Future.succeededFuture();
  }

  private JsonObject request(String name) {
    return new JsonObject().put(CALL, name).put(SESSION, session);
  }

  /**
   * The session is lost after two failures without a listener, or a silence that evicts members.
   */
  private void ping() {
    synchronized (this) {
      if (ended.future().isComplete() || pingPending) {
        return;
      }
      pingPending = true;
    }
    ask(vertx, address, request(PING), ANSWER_MILLIS)
        .onComplete(
            (answer, failure) -> {
              String why = null;
              synchronized (this) {
                pingPending = false;
                long silentMillis = (System.nanoTime() - answeredNanos) / 1_000_000;
                absent = failure != null && isAbsent(failure) ? absent + 1 : 0;
                if (failure == null) {
                  answeredNanos = System.nanoTime();
                  why = answer.getString(ENDED);
                } else if (absent == ABSENT_PINGS) {
                  why = "it has gone";
                } else if (silentMillis > job.exchange().evictMillis()) {
                  why = "it has been silent for %s ms".formatted(silentMillis);
                }
              }
              if (why != null) {
                end(true, why);
              } else if (failure == null) {
                answered(answer);
              }
            });
  }

  private void answered(JsonObject answer) {
    if (answer.getBoolean(SERVES)) {
      serves.tryComplete();
    }
    if (answer.containsKey(OVER)) {
      end(false, answer.getString(OVER));
    }
  }

  /** Ends the session. Returns true only the first time. */
  private boolean end(boolean lost, String reason) {
    synchronized (this) {
      if (!ended.tryComplete(new End(lost, reason))) {
        return false;
      }
      vertx.cancelTimer(timer);
    }
    if (lost) {
      LOG.warn("{}: its strategy verticle at {} is lost: {}", member, address, reason);
    }
    serves.tryFail(new ExchangeException(member + ": " + reason));
    return true;
  }

  private static boolean isAbsent(Throwable failure) {
    return failure instanceof ReplyException no && no.failureType() == ReplyFailure.NO_HANDLERS;
  }

  static Future<JsonObject> ask(Vertx vertx, String address, JsonObject request, long limitMillis) {
    DeliveryOptions options = new DeliveryOptions().setSendTimeout(limitMillis);
    return vertx.eventBus().<JsonObject>request(address, request, options).map(m -> m.body());
  }
}
