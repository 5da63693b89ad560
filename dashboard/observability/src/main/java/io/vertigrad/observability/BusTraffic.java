package io.vertigrad.observability;

import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.ReplyFailure;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.spi.VertxMetricsFactory;
import io.vertx.core.spi.metrics.EventBusMetrics;
import io.vertx.core.spi.metrics.VertxMetrics;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts the messages and bytes on the event bus of this process. It costs a few additions per
 * message and keeps nothing per address, because every request has its own address. Any thread may
 * use it.
 */
public final class BusTraffic implements VertxMetrics, EventBusMetrics<BusTraffic> {

  final LongAdder sentLocally = new LongAdder();
  final LongAdder sentAway = new LongAdder();
  final LongAdder receivedLocally = new LongAdder();
  final LongAdder receivedFromAway = new LongAdder();
  final LongAdder pending = new LongAdder();
  final LongAdder discarded = new LongAdder();
  final LongAdder handlers = new LongAdder();
  final LongAdder bytesWritten = new LongAdder();
  final LongAdder bytesRead = new LongAdder();
  final Map<ReplyFailure, LongAdder> failures = new EnumMap<>(ReplyFailure.class);

  private BusTraffic() {
    for (ReplyFailure failure : ReplyFailure.values()) {
      failures.put(failure, new LongAdder());
    }
  }

  /**
   * Returns the factory for {@link io.vertx.core.VertxBuilder#withMetrics}; each Vert.x has its own
   * counters.
   */
  public static VertxMetricsFactory counting() {
    return options -> new BusTraffic();
  }

  /** Returns the counters of a Vert.x that was built with {@link #counting()}. */
  static Optional<BusTraffic> of(Vertx vertx) {
    return ((VertxInternal) vertx).metrics() instanceof BusTraffic traffic
        ? Optional.of(traffic)
        : Optional.empty();
  }

  @Override
  public EventBusMetrics<?> createEventBusMetrics() {
    return this;
  }

  @Override
  public BusTraffic handlerRegistered(String address) {
    handlers.increment();
    return this;
  }

  @Override
  public void handlerUnregistered(BusTraffic handler) {
    handlers.decrement();
  }

  @Override
  public void scheduleMessage(BusTraffic handler, boolean local) {
    pending.increment();
  }

  @Override
  public void messageDelivered(BusTraffic handler, boolean local) {
    pending.decrement();
  }

  @Override
  public void discardMessage(BusTraffic handler, boolean local, Message<?> message) {
    pending.decrement();
    discarded.increment();
  }

  @Override
  public void messageSent(String address, boolean publish, boolean local, boolean remote) {
    if (local) {
      sentLocally.increment();
    }
    if (remote) {
      sentAway.increment();
    }
  }

  @Override
  public void messageReceived(String address, boolean publish, boolean local, int receivers) {
    (local ? receivedLocally : receivedFromAway).increment();
  }

  @Override
  public void messageWritten(String address, int bytes) {
    bytesWritten.add(bytes);
  }

  @Override
  public void messageRead(String address, int bytes) {
    bytesRead.add(bytes);
  }

  @Override
  public void replyFailure(String address, ReplyFailure failure) {
    failures.get(failure).increment();
  }
}
