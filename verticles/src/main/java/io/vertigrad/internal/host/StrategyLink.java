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
 * How a member reaches its strategy verticle in another JVM: frames over the job's transport, and
 * JSON over the event bus for everything that is no tensor ({@code docs/reference/control-protocol.md}).
 *
 * <p>A session lasts from {@link #open} until either process ends; its loss is reported once, and
 * {@link #open} begins the next with whichever process listens at the address then. Any thread.
 */
public final class StrategyLink {

  /** In a request: which one it is. */
  static final String CALL = "call";

  /** In a request and in the answer to {@code open}: which session. */
  static final String SESSION = "session";

  /** In an answer: why the strategy verticle does not do what it was asked for. */
  static final String REFUSED = "refused";

  /** In an answer: why there is no such session any more. */
  static final String ENDED = "ended";

  static final String HELLO = "hello";
  static final String OPEN = "open";
  static final String PING = "ping";

  private static final Logger LOG = LoggerFactory.getLogger(StrategyLink.class);
  private static final long ANSWER_MILLIS = 2_000;
  private static final long PING_MILLIS = 250;
  private static final long LOOK_MILLIS = 200;
  private static final int CONVINCING = 2;

  private final Vertx vertx;
  private final JobConfig job;
  private final String member;
  private final String address;
  private final Transport transport;
  private volatile Session session;

  private static final class Session {
    private final String id;
    private final Supplier<JsonObject> news;
    private final Consumer<String> lost;
    private long timer;
    private long heardNanos = System.nanoTime();
    private int absent;
    private boolean asking;
    private boolean over;

    Session(String id, Supplier<JsonObject> news, Consumer<String> lost) {
      this.id = id;
      this.news = news;
      this.lost = lost;
    }
  }

  /**
   * A link without a session.
   *
   * @param member whose strategy it is, for people
   * @param address of the strategy verticle
   */
  StrategyLink(Vertx vertx, JobConfig job, String member, String address) {
    this.vertx = vertx;
    this.job = job;
    this.member = member;
    this.address = address;
    this.transport = Transport.of(vertx, job.exchange());
  }

  /**
   * Tells whether a strategy verticle of another JVM is at an address.
   *
   * @param silenceMillis one that does not answer for so long is none: its process may be gone
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

  /** Where the strategy verticle is found; for people, too. */
  public String address() {
    return address;
  }

  /** How long a member does without its strategy: its peers would wait longer for itself. */
  public static long absenceMillis(JobConfig job) {
    return job.exchange().deadlineMillis() * 5 / 6;
  }

  /** For people: the strategy verticle did not come back. */
  public String missing() {
    return ("%s: no strategy verticle has been at %s for %d ms; start it again:"
            + " ./vertigrad io.vertigrad.verticles.StrategyVerticle -cluster -conf FILE")
        .formatted(member, address, absenceMillis(job));
  }

  /**
   * Begins a session with the strategy verticle that is at the address, or that comes there in
   * time.
   *
   * @param request what it needs to know
   * @param news what it is told with every ping
   * @param lost called once, on any thread, with the reason when the session has ended over there
   * @param stop ends the wait
   * @return fails with a message for people when it refuses, or none is there within {@link
   *     #absenceMillis}
   */
  public Future<JsonObject> open(
      JsonObject request, Supplier<JsonObject> news, Consumer<String> lost, BooleanSupplier stop) {
    close();
    Promise<JsonObject> opened = Promise.promise();
    long limit = System.nanoTime() + absenceMillis(job) * 1_000_000;
    open(request, new Opening(news, lost, stop, limit, opened));
    return opened.future();
  }

  private record Opening(
      Supplier<JsonObject> news,
      Consumer<String> lost,
      BooleanSupplier stop,
      long limitNanos,
      Promise<JsonObject> opened) {}

  private void open(JsonObject request, Opening opening) {
    // A process that has just died may still be written to: whoever answers soon is there.
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
                vertx.setTimer(LOOK_MILLIS, again -> open(request, opening));
              }
            });
  }

  private void begin(String id, Opening opening) {
    Session begun = new Session(id, opening.news, opening.lost);
    session = begun;
    begun.timer = vertx.setPeriodic(PING_MILLIS, tick -> ping(begun));
    LOG.info("{}: its strategy is in another JVM, at {}", member, address);
  }

  /** Two answers that nobody is there, or a silence that would end any member. */
  private void ping(Session of) {
    synchronized (of) {
      if (of.over || of.asking) {
        return;
      }
      of.asking = true;
    }
    JsonObject ping = of.news.get().put(CALL, PING).put(SESSION, of.id);
    ask(vertx, address, ping, ANSWER_MILLIS)
        .onComplete(
            (answer, failure) -> {
              String why = null;
              synchronized (of) {
                of.asking = false;
                long silentMillis = (System.nanoTime() - of.heardNanos) / 1_000_000;
                if (failure == null) {
                  of.heardNanos = System.nanoTime();
                  of.absent = 0;
                  why = answer.getString(ENDED);
                } else if (isAbsent(failure)) {
                  of.absent++;
                  why = of.absent < CONVINCING ? null : "it has gone";
                } else if (silentMillis > job.exchange().evictMillis()) {
                  why = "it has been silent for %d ms".formatted(silentMillis);
                }
              }
              if (why != null) {
                lose(of, why);
              }
            });
  }

  private void lose(Session of, String why) {
    if (end(of)) {
      LOG.warn("{}: its strategy verticle at {} is lost: {}", member, address, why);
      of.lost.accept(why);
    }
  }

  /** True the first time. */
  private boolean end(Session of) {
    synchronized (of) {
      boolean first = !of.over;
      of.over = true;
      vertx.cancelTimer(of.timer);
      return first;
    }
  }

  /** Reports that the session is of no use, as {@code lost} does, unless it has ended. */
  public void lose(String why) {
    Session now = session;
    if (now != null) {
      lose(now, why);
    }
  }

  /**
   * Asks the strategy verticle for something; an answer that the session has ended, and every
   * failure, loses it.
   *
   * @param limitMillis how long the answer may take
   */
  public Future<JsonObject> call(String name, JsonObject request, long limitMillis) {
    Session now = session;
    if (now == null || now.over) {
      return Future.failedFuture("no session with " + address);
    }
    return ask(vertx, address, request.put(CALL, name).put(SESSION, now.id), limitMillis)
        .compose(
            answer ->
                answer.containsKey(ENDED)
                    ? Future.<JsonObject>failedFuture(answer.getString(ENDED))
                    : Future.succeededFuture(answer))
        .onFailure(failure -> lose(now, String.valueOf(failure.getMessage())));
  }

  /** Sends a frame of this session, as {@link Transport#request}. */
  public void send(Frame frame, long limitMillis, Completable<Frame> answered) {
    Session now = session;
    if (now == null || now.over) {
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

  /** Where the frames of a session arrive. */
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
