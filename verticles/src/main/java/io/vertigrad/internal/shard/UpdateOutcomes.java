package io.vertigrad.internal.shard;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import io.vertigrad.internal.shard.Shard.ShardCounters;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts the outcomes of a shard's updates. Publishes refusals, at most twenty per second, and
 * counts the rest.
 */
public final class UpdateOutcomes {

  static final int PER_SECOND = 20;

  private static final Logger LOG = LoggerFactory.getLogger(UpdateOutcomes.class);
  private static final long NANOS_PER_SECOND = 1_000_000_000L;

  private final int shard;
  private final LongSupplier nanoClock;
  private final Consumer<TrainingEvent> events;
  private final Map<Outcome, Long> answered = new EnumMap<>(Outcome.class);
  private long refused;
  private long secondNanos;
  private int publishedThisSecond;
  private long suppressed;

  /**
   * Creates counters at 0.
   *
   * @param nanoClock monotonic time in nanoseconds
   * @param events receives the refusals, on the shard's thread; must not block
   */
  public UpdateOutcomes(int shard, LongSupplier nanoClock, Consumer<TrainingEvent> events) {
    this.shard = shard;
    this.nanoClock = nanoClock;
    this.events = events;
    secondNanos = nanoClock.getAsLong();
  }

  /** Counts an update that was answered with parameters. */
  void answered(Outcome outcome) {
    answered.merge(outcome, 1L, Long::sum);
  }

  /**
   * Counts an update that was refused for good. If another worker has its rank by now and repeats
   * the step, that is only logged.
   */
  void refused(Refusal refusal) {
    ExchangeId id = refusal.id();
    if (refusal.reason() == Reason.UNAVAILABLE) {
      return;
    }
    refused++;
    if (refusal.reason() == Reason.STALE_INCARNATION) {
      LOG.info(
          "shard {}: step {} of worker {}: {}", shard, id.step(), id.worker(), refusal.message());
    } else {
      publish(id, refusal.message());
    }
  }

  private void publish(ExchangeId id, String reason) {
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

  ShardCounters counters(long version, long samples) {
    return new ShardCounters(
        version,
        samples,
        countOf(Outcome.APPLIED),
        countOf(Outcome.LATE),
        countOf(Outcome.DUPLICATE),
        countOf(Outcome.TOO_STALE),
        refused);
  }

  private long countOf(Outcome outcome) {
    return answered.getOrDefault(outcome, 0L);
  }
}
