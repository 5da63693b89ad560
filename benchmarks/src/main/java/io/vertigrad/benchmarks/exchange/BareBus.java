package io.vertigrad.benchmarks.exchange;

import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The event bus without Vertigrad's exchange: it sends a buffer of a partition's size and receives
 * one of the same size.
 *
 * <p>It uses the same request and reply, sizes and window as Vertigrad. It has no strategy, sum,
 * check or barrier, and always the same two buffers. What remains is the bus's own cost, which no
 * exchange over the bus can go below. This is why Vertigrad's tensors use streams.
 */
final class BareBus {

  private static final long LIMIT_SECONDS = 60;

  private final EventBus bus;
  private final String address;
  private final Buffer partition;
  private final int partitions;
  private final int window;

  private BareBus(Vertx vertx, ExchangeCase exchange) {
    JobConfig job = exchange.job();
    partitions = Math.max(1, exchange.parameters() / job.exchange().partitionElements());
    int bytes = (int) (exchange.bytes() / partitions);
    bus = vertx.eventBus();
    address = "benchmarks.bare-bus." + exchange.name();
    partition = Buffer.buffer(new byte[bytes]);
    window = Math.max(1, job.exchange().windowBytes() / bytes);
  }

  /** Answers every request from now on, until the returned consumer is unregistered. */
  static MessageConsumer<Buffer> serve(Vertx vertx, ExchangeCase exchange) throws Exception {
    BareBus echo = new BareBus(vertx, exchange);
    MessageConsumer<Buffer> consumer =
        echo.bus.consumer(
            echo.address,
            request -> {
              request.body();
              request.reply(echo.partition);
            });
    consumer.completion().await(LIMIT_SECONDS, TimeUnit.SECONDS);
    return consumer;
  }

  /**
   * Runs one worker's rounds: all partitions of a model out and back, with one window of them in
   * flight.
   */
  static RoundTimes work(Vertx vertx, ExchangeCase exchange) throws Exception {
    BareBus bus = new BareBus(vertx, exchange);
    long[] nanos = new long[exchange.warmRounds() + exchange.rounds() + 1];
    nanos[0] = System.nanoTime();
    for (int round = 1; round < nanos.length; round++) {
      bus.round();
      nanos[round] = System.nanoTime();
    }
    return new RoundTimes(nanos).after(exchange.warmRounds());
  }

  private void round() throws Exception {
    Semaphore credits = new Semaphore(window);
    AtomicReference<Throwable> failure = new AtomicReference<>();
    DeliveryOptions delivery =
        new DeliveryOptions().setSendTimeout(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
    for (int i = 0; i < partitions; i++) {
      take(credits, 1, failure);
      Future<?> reply = bus.<Buffer>request(address, partition, delivery);
      reply.onFailure(failure::set).onComplete(done -> credits.release());
    }
    take(credits, window, failure);
  }

  private void take(Semaphore credits, int count, AtomicReference<Throwable> failure)
      throws Exception {
    if (!credits.tryAcquire(count, LIMIT_SECONDS + 1, TimeUnit.SECONDS)) {
      throw new IllegalStateException("no answer from " + address + " in time");
    }
    if (failure.get() != null) {
      throw new IllegalStateException("no answer from " + address, failure.get());
    }
  }
}
