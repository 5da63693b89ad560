package io.vertigrad.internal.host;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.transport.Transport;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets a member in another JVM use a strategy verticle. It handles what a {@link StrategyLink}
 * sends, in one session at a time. A new session ends the previous one. Belongs to the verticle's
 * context.
 */
public final class StrategyService {

  private static final Logger LOG = LoggerFactory.getLogger(StrategyService.class);
  private static final int ERROR_CODE = 500;

  private final Vertx vertx;
  private final StrategyHost host;
  private final RemoteMember member;
  private MessageConsumer<JsonObject> requests;
  private Transport.Listening frames;
  private String session;
  private boolean hostTaken;
  private boolean closed;

  /** The part of a member that runs in the strategy's JVM, if the member is in another one. */
  public interface RemoteMember {

    /**
     * Begins a session and ends the previous one.
     *
     * @return fails with a message for the user if that is not possible
     */
    Future<Void> open(JsonObject request);

    /** Answers a request of this session. */
    Future<JsonObject> call(String name, JsonObject request);

    /** Handles a frame of this session, whose memory may be borrowed. */
    Future<Frame> handle(Frame frame);

    /** Ends the session and releases everything. */
    Future<?> close(String why);
  }

  private StrategyService(Vertx vertx, StrategyHost host, RemoteMember member) {
    this.vertx = vertx;
    this.host = host;
    this.member = member;
  }

  /**
   * Listens at the host's address, in a cluster.
   *
   * @return completes when members can find it; fails if another strategy verticle is there
   */
  public static Future<StrategyService> open(
      Vertx vertx, JobConfig job, StrategyHost host, RemoteMember member) {
    return StrategyLink.isAt(vertx, host.address(), job.exchange().evictMillis())
        .compose(
            there -> {
              if (there) {
                return Future.failedFuture(host.takenMessage());
              }
              StrategyService service = new StrategyService(vertx, host, member);
              service.requests = vertx.eventBus().consumer(host.address(), service::handle);
              return service.requests.completion().map(service);
            });
  }

  /** Closes the service. The member looks for another strategy verticle at the address. */
  public Future<?> close() {
    closed = true;
    Future<?> frameless = frames == null ? Future.succeededFuture() : frames.close();
    Future<?> ended =
        Future.join(requests.unregister(), frameless, member.close("it is being undeployed"));
    if (hostTaken) {
      host.release();
    }
    return ended;
  }

  private void handle(Message<JsonObject> message) {
    JsonObject request = message.body();
    answer(String.valueOf(request.getString(StrategyLink.CALL)), request)
        .onSuccess(message::reply)
        .onFailure(defect -> message.fail(ERROR_CODE, String.valueOf(defect.getMessage())));
  }

  private Future<JsonObject> answer(String call, JsonObject request) {
    if (call.equals(StrategyLink.HELLO)) {
      return Future.succeededFuture(new JsonObject());
    }
    if (call.equals(StrategyLink.OPEN)) {
      return open(request);
    }
    if (closed || !String.valueOf(request.getString(StrategyLink.SESSION)).equals(session)) {
      return Future.succeededFuture(
          new JsonObject().put(StrategyLink.ENDED, "it began another session, or was restarted"));
    }
    try {
      return member.call(call, request);
    } catch (RuntimeException malformed) {
      return Future.failedFuture(malformed);
    }
  }

  private Future<JsonObject> open(JsonObject request) {
    if (!host.tryTake() && !hostTaken) {
      return Future.succeededFuture(
          new JsonObject()
              .put(
                  StrategyLink.REFUSED,
                  "the strategy verticle at %s is used by a member of its own JVM"
                      .formatted(host.address())));
    }
    hostTaken = true;
    String sessionId = UUID.randomUUID().toString();
    session = null;
    Future<?> before = frames == null ? Future.succeededFuture() : frames.close();
    frames = null;
    return before
        .transform(gone -> member.open(request))
        .compose(
            opened ->
                Transport.borrow(
                    vertx, StrategyLink.frames(host.address(), sessionId), member::handle))
        .map(
            listening -> {
              frames = listening;
              session = sessionId;
              LOG.info("the strategy at {} serves a member of another JVM", host.address());
              return new JsonObject().put(StrategyLink.SESSION, sessionId);
            })
        .recover(
            refused -> {
              LOG.warn("{} refuses: {}", host.address(), refused.getMessage());
              return Future.succeededFuture(
                  new JsonObject().put(StrategyLink.REFUSED, String.valueOf(refused.getMessage())));
            });
  }
}
