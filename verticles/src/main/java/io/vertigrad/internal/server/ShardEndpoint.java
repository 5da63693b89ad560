package io.vertigrad.internal.server;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** A shard in its endpoint: ticks it, and tells twice a second how far it is. */
final class ShardEndpoint implements FrameEndpoint {

  private static final long PROGRESS_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final Shard shard;
  private final LongSupplier patience;
  private final Consumer<ShardCounters> progress;
  private final Runnable ticked;
  private final Runnable updated;
  private final Supplier<Future<Void>> saved;
  private final Promise<Void> lastSaved = Promise.promise();
  private boolean saving;
  private long toldNanos;

  /**
   * Seats a shard.
   *
   * @param patience the shard's clock
   * @param progress told the counters twice a second
   * @param ticked called after every tick
   * @param updated called after every gradient
   * @param saved completes when the last version is on the disk, or needs not be
   */
  ShardEndpoint(
      Shard shard,
      LongSupplier patience,
      Consumer<ShardCounters> progress,
      Runnable ticked,
      Runnable updated,
      Supplier<Future<Void>> saved) {
    this.shard = shard;
    this.patience = patience;
    this.progress = progress;
    this.ticked = ticked;
    this.updated = updated;
    this.saved = saved;
  }

  @Override
  public Future<Frame> handle(Frame frame) {
    Future<Frame> answer = shard.handle(frame);
    if (frame instanceof GradientPartition) {
      updated.run();
    }
    saveLast();
    return answer.compose(reply -> shard.isFinished() ? onceSaved(reply) : done(reply));
  }

  /** Between two frames, so that what is saved knows all updates that are in it. */
  private void saveLast() {
    if (!saving && shard.isFinished()) {
      saving = true;
      saved.get().onComplete(lastSaved);
    }
  }

  /**
   * A worker that has the last version leaves, and nobody repeats its steps any more. So no worker
   * has it before it is on the disk; until then a replacement of this server finds all of them.
   * Everybody needs an answer after the last partition has closed, so that no window is held.
   */
  private Future<Frame> onceSaved(Frame reply) {
    boolean toWorker = reply instanceof ParameterPartition answer && answer.id().worker() >= 0;
    return toWorker ? lastSaved.future().map(reply) : done(reply);
  }

  private static Future<Frame> done(Frame reply) {
    return Future.succeededFuture(reply);
  }

  @Override
  public void tick(long nowNanos) {
    shard.tick(patience.getAsLong());
    if (nowNanos - toldNanos >= PROGRESS_NANOS) {
      toldNanos = nowNanos;
      progress.accept(shard.counters());
    }
    ticked.run();
    saveLast();
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
