package io.vertigrad.internal.server;

import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent.CheckpointFailed;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.job.CheckpointConfig;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * When a shard's checkpoints are written, one at a time: copied on the shard's thread, written on a
 * worker thread. A failed one is announced and tried again an interval later.
 */
final class CheckpointSchedule {

  private static final Logger LOG = LoggerFactory.getLogger(CheckpointSchedule.class);

  private final Vertx vertx;
  private final EventPublisher events;
  private final CheckpointFolder folder;
  private final long every;
  private final boolean inRounds;
  private Future<Void> writing = Future.succeededFuture();
  private long triedVersion;

  /**
   * The schedule of one shard.
   *
   * @param inRounds true where workers move in rounds
   */
  CheckpointSchedule(Vertx vertx, JobConfig job, boolean inRounds) {
    this.vertx = vertx;
    this.inRounds = inRounds;
    events = new EventPublisher(vertx, job.addresses());
    CheckpointConfig config = job.checkpoint();
    Path directory = config.directory().orElse(Path.of("checkpoints", job.addresses().job()));
    folder = new CheckpointFolder(directory, config.keep());
    every = config.every();
  }

  /** The newest whole checkpoint of a shard. */
  Future<Optional<ShardSnapshot>> newest(int shard) {
    return vertx.executeBlocking(
        () -> folder.newestValid(shard, torn -> LOG.warn("checkpoint skipped: {}", torn)));
  }

  /** Counts the interval from here; a shard that nothing was restored of is written at once. */
  void start(Shard shard) {
    triedVersion = shard.version();
    if (every > 0 && !shard.restored()) {
      write(shard);
    }
  }

  /** Begins a checkpoint when the interval is over and none is being written. */
  void tick(Shard shard) {
    if (!inRounds && every > 0 && writing.isComplete() && shard.version() - triedVersion >= every) {
      write(shard);
    }
  }

  /**
   * Begins a checkpoint after a round whose number is a multiple of the interval, so that all
   * shards write the same versions, and no partition of one is ahead of another.
   */
  void roundEnded(Shard shard) {
    if (inRounds && every > 0 && writing.isComplete() && shard.isAligned()) {
      long version = shard.version();
      if (version % every == 0 && version > triedVersion) {
        write(shard);
      }
    }
  }

  /** Begins a checkpoint, whatever the interval, when none is being written. */
  void now(Shard shard) {
    if (writing.isComplete()) {
      write(shard);
    }
  }

  /** Writes one behind the one that is being written, if any; completes with the file. */
  Future<Path> save(Shard shard) {
    return writing.compose(written -> write(shard));
  }

  /** Writes what is newer than the last checkpoint; completes when it is on the disk, or failed. */
  Future<Void> finish(Shard shard) {
    return writing.compose(
        written -> {
          if (every > 0 && shard.version() > triedVersion) {
            write(shard);
          }
          return writing;
        });
  }

  private Future<Path> write(Shard shard) {
    ShardSnapshot snapshot = shard.snapshot();
    triedVersion = snapshot.version();
    long start = System.nanoTime();
    Future<Path> file =
        vertx
            .executeBlocking(() -> folder.write(snapshot))
            .onSuccess(done -> written(snapshot, done, System.nanoTime() - start))
            .onFailure(failure -> failed(snapshot, failure));
    writing = file.<Void>mapEmpty().otherwiseEmpty();
    return file;
  }

  private void written(ShardSnapshot snapshot, Path file, long nanos) {
    events.publish(
        new CheckpointWritten(
            System.currentTimeMillis(),
            snapshot.shard(),
            snapshot.version(),
            file.toString(),
            TimeUnit.NANOSECONDS.toMillis(nanos)));
  }

  private void failed(ShardSnapshot snapshot, Throwable failure) {
    LOG.warn("checkpoint of shard {} not written: {}", snapshot.shard(), failure.toString());
    events.publish(
        new CheckpointFailed(
            System.currentTimeMillis(), snapshot.shard(), snapshot.version(), failure.toString()));
  }
}
