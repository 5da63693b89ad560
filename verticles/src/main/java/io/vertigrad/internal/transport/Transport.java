package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.TransportKind;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.Message;
import java.util.Optional;
import java.util.function.Function;

/** Carries a frame to the listener at an address, and the answer back. Any thread may use it. */
public interface Transport {

  /** A listener at an address. */
  interface Listening {

    /** Stops listening; completes when nobody finds the address any more. */
    Future<Void> close();
  }

  /**
   * Returns the transport of a job in this process: streams, if the job configures them and this
   * process {@linkplain Streams#open opened} them; else the event bus.
   */
  static Transport of(Vertx vertx, ExchangeConfig config) {
    Optional<Streams> streams = Streams.of(vertx);
    return streams.isPresent() && config.transport() != TransportKind.BUS
        ? streams.get().transport(config.transport())
        : onBus(vertx.eventBus());
  }

  /**
   * Returns a transport that sends frames as messages of the event bus: the record itself within a
   * process, its bytes to other processes.
   */
  static Transport onBus(EventBus bus) {
    return (address, frame, limitMillis, answered) ->
        bus.<Frame>request(address, frame, new DeliveryOptions().setSendTimeout(limitMillis))
            .map(Message::body)
            .onComplete(answered);
  }

  /**
   * Listens at an address, for any transport that the senders use.
   *
   * @param answers called on the caller's context; its future completes with the answer, which may
   *     be null
   * @return completes when others can find the address
   */
  static Future<Listening> listen(
      Vertx vertx, String address, Function<Frame, Future<Frame>> answers) {
    return BusListener.open(vertx, address, answers, false);
  }

  /**
   * Listens at an address, with tensors that are only lent: their memory may be overwritten when
   * {@code answers} returns, unless it {@linkplain io.vertigrad.codecs.TensorView#retain keeps} the
   * tensor.
   */
  static Future<Listening> borrow(
      Vertx vertx, String address, Function<Frame, Future<Frame>> answers) {
    return BusListener.open(vertx, address, answers, true);
  }

  /**
   * Sends a frame, which is encoded before this method returns, unless the connection is still
   * being made.
   *
   * @param limitMillis how long to wait for the answer
   * @param answered called once, on any thread, with the answer, which may be null; or with a
   *     {@link io.vertx.core.eventbus.ReplyException} when nobody listens or answers in time. The
   *     memory of the answer's tensor may be overwritten when it returns, unless it {@linkplain
   *     Frame#retain keeps} the frame
   */
  void request(String address, Frame frame, long limitMillis, Completable<Frame> answered);

  /** Sends a frame and returns a copy of the answer that the caller may keep. */
  default Future<Frame> request(String address, Frame frame, long limitMillis) {
    Promise<Frame> promise = Promise.promise();
    request(
        address,
        frame,
        limitMillis,
        (answer, failure) -> promise.complete(answer == null ? null : answer.retain(), failure));
    return promise.future();
  }

  /**
   * Drops the connection to an address at which answers are overdue. The next request looks the
   * address up again and connects.
   */
  default void renew(String address) {}

  /**
   * Returns what lets a thread receive the answers to the requests that follow; empty if this
   * transport passes on all answers by event loops. The caller closes it.
   */
  default Optional<AnswerReceiver> answerReceiver() {
    return Optional.empty();
  }
}
