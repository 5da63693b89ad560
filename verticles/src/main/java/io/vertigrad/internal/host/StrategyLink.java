package io.vertigrad.internal.host;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.json.JsonObject;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member's connection to its strategy verticle in another JVM. Tensors are sent as frames over
 * the job's transport. Everything else is JSON over the event bus ({@code
 * docs/reference/control-protocol.md}).
 *
 * <p>A session lasts from {@link #open} until either process ends. Its loss is reported once. The
 * next {@link #open} begins a session with the process that listens at the address then. May be
 * called by any thread.
 */
public final class StrategyLink {

  /** Key of a request: its name. */
  static final String CALL = "call";

  /** Key of a request and of the answer to {@code open}: the session id. */
  static final String SESSION = "session";

  /** Key of an answer: why the strategy verticle refuses the request. */
  static final String REFUSED = "refused";

  /** Key of an answer: why the session does not exist any more. */
  static final String ENDED = "ended";

  static final String HELLO = "hello";
  static final String OPEN = "open";
  static final String PING = "ping";

  private static final Logger LOG = LoggerFactory.getLogger(StrategyLink.class);
  private static final long ANSWER_MILLIS = 2_000;
  private static final long PING_MILLIS = 250;
  private static final long RETRY_MILLIS = 200;
  private static final int ABSENT_PINGS = 2;

  private final Vertx vertx;
  private final JobConfig job;
  private final String member;
  private final String address;
  private final Transport transport;
  private volatile Session session;

  private static final class Session {
    private final String id;
    private final Supplier<JsonObject> pingData;
    private final Consumer<String> onLost;
    private long timer;
    private long lastAnswerNanos = System.nanoTime();
    private int absent;
    private boolean pingPending;
    private boolean ended;

    Session(String id, Supplier<JsonObject> pingData, Consumer<String> onLost) {
      this.id = id;
      this.pingData = pingData;
      this.onLost = onLost;
    }
  }

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
    this.transport = Transport.of(vertx, job.exchange());
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

  /**
   * Returns how long a member works without its strategy, less than its peers wait for the member.
   */
  public static long absenceMillis(JobConfig job) {
    return job.exchange().deadlineMillis() * 5 / 6;
  }

  /** Returns the error message for a strategy verticle that did not come back. */
  public String missing() {
    return ("%s: no strategy verticle has been at %s for %d ms; start it again:"
            + " ./vertigrad io.vertigrad.verticles.StrategyVerticle -cluster -conf FILE")
        .formatted(member, address, absenceMillis(job));
  }

  /**
   * Begins a session with the strategy verticle at the address. Waits until one is there, if
   * necessary.
   *
   * @param request data that the strategy verticle needs
   * @param pingData returns the data for every ping
   * @param onLost called once, on any thread, with the reason when the other side has ended the
   *     session
   * @param stop ends the wait
   * @return fails with a message for the user if the verticle refuses or none is there within
   *     {@link #absenceMillis}
   */
  public Future<JsonObject> open(
      JsonObject request,
      Supplier<JsonObject> pingData,
      Consumer<String> onLost,
      BooleanSupplier stop) {
    close();
    Promise<JsonObject> opened = Promise.promise();
    long limit = System.nanoTime() + absenceMillis(job) * 1_000_000;
    open(request, new Opening(pingData, onLost, stop, limit, opened));
    return opened.future();
  }

  private record Opening(
      Supplier<JsonObject> pingData,
      Consumer<String> onLost,
      BooleanSupplier stop,
      long limitNanos,
      Promise<JsonObject> opened) {}

  private void open(JsonObject request, Opening opening) {
    // A process that has just died may still accept messages: only an answer proves that it is
    // alive.
    ask(vertx, address, new JsonObject().put(CALL, HELLO), ANSWER_MILLIS)
        .compose(there -> ask(vertx, address, request.copy().put(CALL, OPEN), absenceMillis(job)))
        .onSuccess(
            answer -> {
              if (answer.containsKey(REFUSED)) {
                opening.opened.fail(
                    new ExchangeException(member + ": " + answer.getString(REFUSED)));
              } else {
                begin(answer.getString(SESSION), opening);
                opening.opened.complete(answer);
              }
            })
        .onFailure(
            failure -> {
              if (opening.stop.getAsBoolean()) {
                opening.opened.fail(new ExchangeException(member + " is stopping"));
              } else if (System.nanoTime() > opening.limitNanos) {
                opening.opened.fail(new ExchangeException(missing(), failure));
              } else {
                LOG.debug("{}: no session with {} yet: {}", member, address, failure.getMessage());
                vertx.setTimer(RETRY_MILLIS, again -> open(request, opening));
              }
            });
  }

  private void begin(String id, Opening opening) {
    Session begun = new Session(id, opening.pingData, opening.onLost);
    session = begun;
    begun.timer = vertx.setPeriodic(PING_MILLIS, tick -> ping(begun));
    LOG.info("{}: its strategy is in another JVM, at {}", member, address);
  }

  /**
   * The session is lost after two failures without a listener, or a silence that evicts members.
   */
  private void ping(Session of) {
    synchronized (of) {
      if (of.ended || of.pingPending) {
        return;
      }
      of.pingPending = true;
    }
    JsonObject ping = of.pingData.get().put(CALL, PING).put(SESSION, of.id);
    ask(vertx, address, ping, ANSWER_MILLIS)
        .onComplete(
            (answer, failure) -> {
              String why = null;
              synchronized (of) {
                of.pingPending = false;
                long silentMillis = (System.nanoTime() - of.lastAnswerNanos) / 1_000_000;
                if (failure == null) {
                  of.lastAnswerNanos = System.nanoTime();
                  of.absent = 0;
                  why = answer.getString(ENDED);
                } else if (isAbsent(failure)) {
                  of.absent++;
                  why = of.absent < ABSENT_PINGS ? null : "it has gone";
                } else if (silentMillis > job.exchange().evictMillis()) {
                  why = "it has been silent for %d ms".formatted(silentMillis);
                }
              }
              if (why != null) {
                reportLost(of, why);
              }
            });
  }

  private void reportLost(Session of, String why) {
    if (end(of)) {
      LOG.warn("{}: its strategy verticle at {} is lost: {}", member, address, why);
      of.onLost.accept(why);
    }
  }

  /** Ends the session. Returns true only the first time. */
  private boolean end(Session of) {
    synchronized (of) {
      boolean first = !of.ended;
      of.ended = true;
      vertx.cancelTimer(of.timer);
      return first;
    }
  }

  /** Reports the session as lost through {@code onLost}, unless it has ended. */
  public void lose(String why) {
    Session now = session;
    if (now != null) {
      reportLost(now, why);
    }
  }

  /**
   * Sends a request to the strategy verticle. The session is lost on any failure, and on an answer
   * that it has ended.
   *
   * @param limitMillis longest wait for the answer
   */
  public Future<JsonObject> call(String name, JsonObject request, long limitMillis) {
    Session now = session;
    if (now == null || now.ended) {
      return Future.failedFuture("no session with " + address);
    }
    return ask(vertx, address, request.put(CALL, name).put(SESSION, now.id), limitMillis)
        .compose(
            answer ->
                answer.containsKey(ENDED)
                    ? Future.<JsonObject>failedFuture(answer.getString(ENDED))
                    : Future.succeededFuture(answer))
        .onFailure(failure -> reportLost(now, String.valueOf(failure.getMessage())));
  }

  /** Sends a frame of this session; see {@link Transport#request}. */
  public void send(Frame frame, long limitMillis, Completable<Frame> answered) {
    Session now = session;
    if (now == null || now.ended) {
      answered.fail("no session with " + address);
    } else {
      transport.request(frames(address, now.id), frame, limitMillis, answered);
    }
  }

  /** Ends the session without a report. */
  public void close() {
    Session now = session;
    if (now != null) {
      end(now);
    }
  }

  /** Returns the address of a session's frames. */
  static String frames(String address, String session) {
    return address + "." + session;
  }

  private static boolean isAbsent(Throwable failure) {
    return failure instanceof ReplyException no && no.failureType() == ReplyFailure.NO_HANDLERS;
  }

  private static Future<JsonObject> ask(
      Vertx vertx, String address, JsonObject request, long limitMillis) {
    DeliveryOptions options = new DeliveryOptions().setSendTimeout(limitMillis);
    return vertx.eventBus().<JsonObject>request(address, request, options).map(m -> m.body());
  }
}
