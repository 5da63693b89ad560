package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import io.vertigrad.internal.shard.Shard.StrategyObserver;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Publishes refusals, at most twenty per second; counts the rest. */
final class RefusalEvents implements StrategyObserver {

  static final int PER_SECOND = 20;

  private static final Logger LOG = LoggerFactory.getLogger(RefusalEvents.class);
  private static final long NANOS_PER_SECOND = 1_000_000_000L;

  private final int shard;
  private final LongSupplier nanoClock;
  private final Consumer<TrainingEvent> events;
  private long secondNanos;
  private int publishedThisSecond;
  private long suppressed;

  RefusalEvents(int shard, LongSupplier nanoClock, Consumer<TrainingEvent> events) {
    this.shard = shard;
    this.nanoClock = nanoClock;
    this.events = events;
    secondNanos = nanoClock.getAsLong();
  }

  @Override
  public void answered(ExchangeId id, Outcome outcome, int staleness) {}

  /** Only logs: a worker that goes on training does not need this update. */
  @Override
  public void outdated(ExchangeId id, String reason) {
    LOG.info("shard {}: step {} of worker {}: {}", shard, id.step(), id.worker(), reason);
  }

  @Override
  public void refused(ExchangeId id, String reason) {
    long now = nanoClock.getAsLong();
    if (now - secondNanos >= NANOS_PER_SECOND) {
      secondNanos = now;
      publishedThisSecond = 0;
    }
    if (publishedThisSecond == PER_SECOND) {
      suppressed++;
      return;
    }
    publishedThisSecond++;
    String shown =
        suppressed == 0 ? reason : reason + " (" + suppressed + " refusals before it not shown)";
    suppressed = 0;
    events.accept(
        new UpdateRefused(
            System.currentTimeMillis(), shard, id.worker(), id.step(), id.partition(), shown));
  }
}
