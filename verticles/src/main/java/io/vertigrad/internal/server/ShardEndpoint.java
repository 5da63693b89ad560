package io.vertigrad.internal.server;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertx.core.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** A shard in its endpoint: ticks it, and tells twice a second how far it is. */
final class ShardEndpoint implements FrameEndpoint {

  private static final long PROGRESS_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final Shard shard;
  private final LongSupplier patience;
  private final Consumer<ShardCounters> progress;
  private final Runnable ticked;
  private final Runnable updated;
  private long toldNanos;

  /**
   * Seats a shard.
   *
   * @param patience the shard's clock
   * @param progress told the counters twice a second
   * @param ticked called after every tick
   * @param updated called after every gradient
   */
  ShardEndpoint(
      Shard shard,
      LongSupplier patience,
      Consumer<ShardCounters> progress,
      Runnable ticked,
      Runnable updated) {
    this.shard = shard;
    this.patience = patience;
    this.progress = progress;
    this.ticked = ticked;
    this.updated = updated;
  }

  @Override
  public Future<Frame> handle(Frame frame) {
    Future<Frame> answer = shard.handle(frame);
    if (frame instanceof GradientPartition) {
      updated.run();
    }
    return answer;
  }

  @Override
  public void tick(long nowNanos) {
    shard.tick(patience.getAsLong());
    if (nowNanos - toldNanos >= PROGRESS_NANOS) {
      toldNanos = nowNanos;
      progress.accept(shard.counters());
    }
    ticked.run();
  }

  @Override
  public void close(String why) {
    shard.close(why);
  }

  /** For the coordinator: how far it is, whom somebody waits for, and if it was restored. */
  static MemberStatus status(Shard shard) {
    ShardCounters counters = shard.counters();
    return MemberStatus.ofServer(
        counters.version(), counters.samples(), shard.restored(), shard.heldUp());
  }

  /** The event that tells these counters. */
  static ServerProgress event(int shard, int incarnation, ShardCounters counters) {
    return new ServerProgress(
        System.currentTimeMillis(),
        shard,
        incarnation,
        counters.version(),
        counters.samples(),
        counters.applied(),
        counters.late(),
        counters.duplicate(),
        counters.tooStale(),
        counters.refused());
  }
}
