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

/** The frame endpoint of a shard: ticks it and reports its progress twice a second. */
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
   * Creates the endpoint of a shard.
   *
   * @param patience the shard's clock
   * @param progress receives the counters twice a second
   * @param ticked called after every tick
   * @param updated called after every gradient
   * @param saved completes when the last version is on the disk, or need not be
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

  /** Saves the last version between two frames, so that the checkpoint counts all updates in it. */
  private void saveLast() {
    if (!saving && shard.isFinished()) {
      saving = true;
      saved.get().onComplete(lastSaved);
    }
  }

  /**
   * Holds answers to workers back until the last version is on the disk. A worker that has the last
   * version leaves, and nobody can repeat its steps any more. Until the version is on the disk, a
   * replacement of this server therefore finds all workers. Every worker needs an answer after the
   * last partition has closed, so no exchange window is blocked.
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

  /**
   * Returns the status for the coordinator: version, samples, stragglers, and whether it was
   * restored.
   */
  static MemberStatus status(Shard shard) {
    ShardCounters counters = shard.counters();
    return MemberStatus.ofServer(
        counters.version(), counters.samples(), shard.restored(), shard.heldUp());
  }

  /** Returns the event with these counters. */
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
