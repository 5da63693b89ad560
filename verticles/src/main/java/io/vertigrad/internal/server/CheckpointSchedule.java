package io.vertigrad.internal.server;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent.CheckpointFailed;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.ShardCopy;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.checkpoint.WritePace;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.job.CheckpointConfig;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides when a shard's checkpoints are written, one at a time. A worker thread copies partition
 * by partition; a partition that changes before its copy is made is copied on the shard's thread.
 * Writing pauses now and then, unless another checkpoint or a caller waits for it. A failed
 * checkpoint is announced and tried again one interval later.
 *
 * <p>If workers move in rounds, all shards write the same versions: multiples of {@code
 * checkpoint.every}, or the version that the coordinator has chosen. Otherwise each shard uses its
 * own count or clock.
 */
final class CheckpointSchedule {

  private static final Logger LOG = LoggerFactory.getLogger(CheckpointSchedule.class);

  /** Writing takes at most one part in this many of the time. */
  private static final long WRITE_SHARE_DIVISOR = 50;

  private final Vertx vertx;
  private final EventPublisher events;
  private final CheckpointFolder folder;
  private final CheckpointConfig config;
  private final String run;
  private final int shard;
  private final boolean inRounds;
  private final CopyMemory memory = new CopyMemory();
  private final Set<Long> damaged = ConcurrentHashMap.newKeySet();
  private volatile List<Long> written = List.of();
  private volatile boolean folderKnown;
  private volatile long lastMillis;
  private Future<Void> writing = Future.succeededFuture();
  private WritePace pace = new WritePace();
  private int pending;
  private long startedVersion;
  private long startedNanos;
  private long saveAt;
  private boolean reserved;

  /**
   * Creates the schedule of one shard.
   *
   * @param run the run that owns the checkpoints
   * @param inRounds true if workers move in rounds
   * @param fingerprints of the data and model files with which the job trains
   */
  CheckpointSchedule(
      Vertx vertx,
      JobConfig job,
      String run,
      int shard,
      boolean inRounds,
      Map<String, DataFingerprint> fingerprints) {
    this.vertx = vertx;
    this.run = run;
    this.shard = shard;
    this.inRounds = inRounds;
    events = new EventPublisher(vertx, job.addresses());
    config = job.checkpoint();
    folder =
        new CheckpointFolder(
            config.directoryOf(job.addresses().job(), run), config.keep(), fingerprints);
  }

  /**
   * Lists the checkpoints on the disk and, if the job writes any, claims the folder for this run.
   *
   * @return fails when the folder belongs to another run
   */
  Future<Void> open() {
    return vertx.executeBlocking(
        () -> {
          folderKnown = config.isOn() ? folder.claim(run) : folder.belongsTo(run);
          written = folderKnown ? folder.versions(shard) : List.of();
          return null;
        });
  }

  /** Returns whether the folder was already this run's: then what it lacks was never written. */
  boolean isKnown() {
    return folderKnown;
  }

  /**
   * Reads the shard's checkpoint of a version, or its newest valid one.
   *
   * @param from the version; empty for the newest
   * @return empty if there is none, which stands for the initial parameters
   */
  Future<Optional<ShardSnapshot>> read(OptionalLong from) {
    return folderKnown
        ? vertx.executeBlocking(() -> readNow(from))
        : Future.succeededFuture(Optional.empty());
  }

  private Optional<ShardSnapshot> readNow(OptionalLong from) throws IOException {
    if (from.isEmpty()) {
      for (long version : written) {
        Optional<ShardSnapshot> found = read(version);
        if (found.isPresent()) {
          return found;
        }
      }
      return Optional.empty();
    }
    return from.getAsLong() == 0 && !written.contains(0L)
        ? Optional.empty()
        : read(from.getAsLong());
  }

  private Optional<ShardSnapshot> read(long version) throws IOException {
    Optional<ShardSnapshot> found =
        folder.valid(shard, version, message -> LOG.warn("checkpoint skipped: {}", message));
    if (found.isEmpty()) {
      damaged.add(version);
    }
    return found;
  }

  /**
   * Returns the versions that this shard can go back to; 0 always, because it follows from the
   * seed.
   */
  List<Long> kept() {
    List<Long> kept = new ArrayList<>(written);
    kept.removeAll(damaged);
    if (!kept.contains(0L)) {
      kept.add(0L);
    }
    return kept;
  }

  /** Returns the newest version on the disk; 0 for none. */
  long newest() {
    return written.stream().mapToLong(Long::longValue).max().orElse(0);
  }

  /**
   * Returns how long the last checkpoint took to write without pauses, in milliseconds; 0 before
   * any.
   */
  long lastMillis() {
    return lastMillis;
  }

  /** Starts the interval now. */
  void start(Shard shard) {
    startedVersion = shard.version();
    startedNanos = System.nanoTime();
    if (config.isOn() && !(inRounds && config.isTimed())) {
      reserve(shard);
    }
    if (config.every() > 0 && !shard.restored()) {
      write(shard);
    }
  }

  /**
   * Sets the version that all shards write if workers move in rounds; it lies ahead. Memory for the
   * first copy is allocated in the meantime.
   */
  void saveAt(Shard shard, long version) {
    saveAt = version;
    if (version > 0) {
      reserve(shard);
    }
  }

  private void reserve(Shard shard) {
    if (!reserved) {
      reserved = true;
      vertx
          .executeBlocking(
              () -> {
                shard.reserveCopy(memory, new WritePace());
                return null;
              },
              false)
          .onFailure(failure -> LOG.warn("no memory for checkpoints yet: {}", failure.toString()));
    }
  }

  /** Starts a checkpoint when the interval is over and none is being written. */
  void tick(Shard shard) {
    if (!inRounds && writing.isComplete() && isDue(shard)) {
      write(shard);
    }
  }

  private boolean isDue(Shard shard) {
    if (config.every() > 0) {
      return shard.version() - startedVersion >= config.every();
    }
    double least = Math.max(config.seconds(), WRITE_SHARE_DIVISOR * lastMillis / 1e3);
    return config.isTimed()
        && shard.version() > startedVersion
        && System.nanoTime() - startedNanos >= least * TimeUnit.SECONDS.toNanos(1);
  }

  /**
   * Starts a checkpoint after a round that all shards write, so that all partitions are at the same
   * version. At most two are in progress, so that one shard never falls far behind the others.
   */
  void roundEnded(Shard shard) {
    if (inRounds && config.isOn() && pending < 2 && shard.isAligned()) {
      long version = shard.version();
      boolean due =
          config.every() > 0
              ? version % config.every() == 0 && version > startedVersion
              : version == saveAt && version != startedVersion;
      if (due) {
        write(shard);
      }
    }
  }

  /** Writes the checkpoint in progress without pauses. */
  void finishWithoutPauses() {
    pace.finishWithoutPauses();
  }

  /** Starts a checkpoint, whatever the interval, unless one is being written. */
  void writeNow(Shard shard) {
    if (writing.isComplete()) {
      write(shard);
    }
  }

  /** Writes a checkpoint after the one in progress, if any; completes with the file. */
  Future<Path> save(Shard shard) {
    pace.finishWithoutPauses();
    return writing.compose(
        written -> {
          Future<Path> file = write(shard);
          pace.finishWithoutPauses();
          return file;
        });
  }

  /**
   * Writes what is newer than the last checkpoint; with timed checkpoints only the last version.
   * Completes when it is on the disk, or has failed.
   */
  Future<Void> finish(Shard shard) {
    pace.finishWithoutPauses();
    return writing.compose(
        written -> {
          boolean due = config.every() > 0 || config.isTimed() && shard.isFinished();
          if (due && shard.version() > startedVersion) {
            write(shard);
          }
          pace.finishWithoutPauses();
          return writing;
        });
  }

  private Future<Path> write(Shard shard) {
    ShardCopy copy = shard.beginCopy(memory);
    startedVersion = copy.version();
    startedNanos = System.nanoTime();
    pending++;
    pace.finishWithoutPauses();
    WritePace filePace = new WritePace();
    pace = filePace;
    Future<Path> file =
        writing
            .compose(before -> vertx.executeBlocking(() -> writeFile(copy, filePace), false))
            .onFailure(failure -> failed(copy, failure))
            .onComplete(ended -> pending--);
    writing = file.<Void>mapEmpty().otherwiseEmpty();
    return file;
  }

  private Path writeFile(ShardCopy copy, WritePace filePace) throws IOException {
    long start = System.nanoTime();
    Path file;
    try {
      folder.claim(run);
      file = folder.write(copy, filePace);
    } finally {
      copy.release();
    }
    damaged.remove(copy.version());
    written = folder.versions(shard);
    lastMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start) - filePace.pausedMillis();
    events.publish(
        new CheckpointWritten(
            System.currentTimeMillis(), shard, copy.version(), file.toString(), lastMillis));
    return file;
  }

  private void failed(ShardCopy snapshot, Throwable failure) {
    String why = FailureReason.of(failure);
    LOG.warn("checkpoint of shard {} not written: {}", snapshot.shard(), why);
    events.publish(
        new CheckpointFailed(
            System.currentTimeMillis(), snapshot.shard(), snapshot.version(), why));
  }
}
