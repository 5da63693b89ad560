package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.TransportKind;
import io.vertx.core.Completable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.Optional;
import java.util.function.Function;

/** Carries a frame to whoever listens at an address, and the answer back. Any thread. */
public interface Transport {

  /** An address that is listened at. */
  interface Listening {

    /** Ends it; completes when nobody finds the address any more. */
    Future<Void> close();
  }

  /**
   * What this process and this job use: streams where they are wanted and this process {@linkplain
   * Streams#open opened} them, else the event bus.
   */
  static Transport of(Vertx vertx, ExchangeConfig config) {
    Optional<Streams> streams = Streams.of(vertx);
    return streams.isPresent() && config.transport() != TransportKind.BUS
        ? new StreamTransport(vertx, streams.get(), config.transport())
        : new BusTransport(vertx.eventBus());
  }

  /**
   * Lets others reach an address, by whichever transport they use.
   *
   * @param answers called on the caller's context; its future is what the sender gets, null allowed
   * @return completes when others can find it
   */
  static Future<Listening> listen(
      Vertx vertx, String address, Function<Frame, Future<Frame>> answers) {
    return BusListener.open(vertx, address, answers, false);
  }

  /**
   * Likewise, for one who is done with a frame's tensor when {@code answers} returns, or
   * {@linkplain io.vertigrad.codecs.TensorView#retain keeps} it: its memory may only be lent until
   * then.
   */
  static Future<Listening> borrow(
      Vertx vertx, String address, Function<Frame, Future<Frame>> answers) {
    return BusListener.open(vertx, address, answers, true);
  }

  /**
   * Sends a frame; it is encoded before this returns, except while its way is still being found.
   *
   * @param limitMillis how long to wait for the answer
   * @param answered called once, on any thread, with the answer, which may be null; or with a
   *     {@link io.vertx.core.eventbus.ReplyException} when nobody listens or answers in time. It is
   *     done with the answer's tensor when it returns, or {@linkplain Frame#retain keeps} it: the
   *     memory may only be borrowed until then
   */
  void request(String address, Frame frame, long limitMillis, Completable<Frame> answered);

  /** Likewise; the answer is the caller's to keep. */
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
   * Finds the way to an address where somebody listens who may soon be needed at once. A cluster
   * that loses a node answers no such question for a while.
   */
  default void prepare(String address) {}
}
