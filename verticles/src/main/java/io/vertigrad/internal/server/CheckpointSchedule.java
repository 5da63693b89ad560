package io.vertigrad.internal.server;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.internal.checkpoint.Checkpoint;
import io.vertigrad.internal.checkpoint.CheckpointWriter;
import io.vertigrad.internal.checkpoint.WritePace;
import io.vertigrad.internal.exchange.ContextBridge;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.job.CheckpointConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides when a shard's checkpoints are written, one at a time. The writer's thread copies
 * partition by partition; a partition that changes before its copy is made is copied on the shard's
 * thread. A failed checkpoint is tried again one interval later.
 *
 * <p>If workers move in rounds, all shards write the same versions: multiples of {@code
 * checkpoint.every}, or the versions that the coordinator has chosen. Otherwise each shard counts
 * its own versions, or writes one when the coordinator has chosen another.
 */
final class CheckpointSchedule {

  private static final Logger LOG = LoggerFactory.getLogger(CheckpointSchedule.class);

  private final Vertx vertx;
  private final CheckpointConfig config;
  private final CheckpointWriter writer;
  private final int shard;
  private final boolean inRounds;
  private final Set<Long> damaged = ConcurrentHashMap.newKeySet();
  private Future<Void> writing = Future.succeededFuture();
  private long startedVersion;
  private List<Long> saveAt = List.of();
  private boolean ordered;
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
    this.shard = shard;
    this.inRounds = inRounds;
    config = job.checkpoint();
    writer =
        new CheckpointWriter(
            job,
            Role.SERVER,
            config.keep(),
            new CheckpointWriter.Owner(() -> run, () -> fingerprints),
            new EventPublisher(vertx, job.addresses())::publish);
  }

  /**
   * Lists the checkpoints on the disk and, if the job writes any, claims the folder for this run.
   *
   * @return fails when the folder belongs to another run
   */
  Future<Void> open() {
    return vertx.executeBlocking(
        () -> {
          writer.findVersions(shard);
          return null;
        });
  }

  /** Returns whether the folder was already this run's: then what it lacks was never written. */
  boolean isKnown() {
    return writer.isKnown();
  }

  /**
   * Reads the shard's checkpoint of a version, or its newest valid one.
   *
   * @param from the version; empty for the newest
   * @return empty if there is none, which stands for the initial parameters
   */
  Future<Optional<Checkpoint>> read(OptionalLong from) {
    return writer.isKnown()
        ? vertx.executeBlocking(() -> readNow(from))
        : Future.succeededFuture(Optional.empty());
  }

  private Optional<Checkpoint> readNow(OptionalLong from) throws IOException {
    if (from.isEmpty()) {
      for (long version : writer.versions()) {
        Optional<Checkpoint> found = read(version);
        if (found.isPresent()) {
          return found;
        }
      }
      return Optional.empty();
    }
    return from.getAsLong() == 0 && !writer.versions().contains(0L)
        ? Optional.empty()
        : read(from.getAsLong());
  }

  private Optional<Checkpoint> read(long version) throws IOException {
    Optional<Checkpoint> found =
        writer
            .folder()
            .valid(shard, version, message -> LOG.warn("checkpoint skipped: {}", message));
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
    List<Long> kept = new ArrayList<>(writer.versions());
    kept.removeAll(damaged);
    if (!kept.contains(0L)) {
      kept.add(0L);
    }
    return kept;
  }

  /** Returns the newest version on the disk; 0 for none. */
  long newest() {
    return writer.versions().stream().mapToLong(Long::longValue).max().orElse(0);
  }

  /**
   * Returns what the last checkpoint {@linkplain CheckpointWriter#costMillis cost}, in
   * milliseconds.
   */
  long costMillis() {
    return writer.costMillis();
  }

  /** Begins after the shard's version now. */
  void start(Shard shard) {
    startedVersion = shard.version();
    if (config.every() > 0) {
      reserve(shard);
      if (!shard.restored()) {
        write(shard, true);
      }
    }
  }

  /**
   * Sets the versions that the coordinator has chosen. If workers move in rounds, the newest lies
   * ahead. Memory for the first copy is allocated in the meantime.
   */
  void saveAt(Shard shard, List<Long> versions) {
    ordered |= !versions.isEmpty() && !versions.equals(saveAt);
    saveAt = versions;
    if (!versions.isEmpty()) {
      reserve(shard);
    }
  }

  private void reserve(Shard shard) {
    if (!reserved) {
      reserved = true;
      vertx
          .executeBlocking(
              () -> {
                shard.reserveCopy(writer.memory(), new WritePace());
                return null;
              },
              false)
          .onFailure(failure -> LOG.warn("no memory for checkpoints yet: {}", failure.toString()));
    }
  }

  /** Starts a checkpoint when one is due, without rounds, and none is being written. */
  void tick(Shard shard) {
    long apart = config.every() > 0 ? config.every() : ordered ? 1 : Long.MAX_VALUE;
    if (!inRounds && writing.isComplete() && shard.version() - startedVersion >= apart) {
      write(shard, true);
    }
  }

  /**
   * Starts a checkpoint after a round that all shards write, so that all partitions are at the same
   * version. At most two are in progress, so that one shard never falls far behind the others.
   */
  void roundEnded(Shard shard) {
    if (inRounds && config.isOn() && writer.pending() < 2 && shard.isAligned()) {
      long version = shard.version();
      boolean due =
          config.every() > 0
              ? version % config.every() == 0 && version > startedVersion
              : saveAt.contains(version) && version != startedVersion;
      if (due) {
        write(shard, false);
      }
    }
  }

  /** Writes the checkpoint in progress without pauses. */
  void finishWithoutPauses() {
    writer.finishWithoutPauses();
  }

  /** Starts a checkpoint, whatever the interval, unless one is being written. */
  void writeNow(Shard shard) {
    if (writing.isComplete()) {
      write(shard, true);
    }
  }

  /** Writes a checkpoint after the one in progress, if any; completes with the file. */
  Future<Path> save(Shard shard) {
    writer.finishWithoutPauses();
    return writing.compose(
        written -> {
          Future<Path> file = write(shard, true);
          writer.finishWithoutPauses();
          return file;
        });
  }

  /**
   * Writes what is newer than the last checkpoint; with timed checkpoints only the last version, or
   * if the server leaves. Completes when it is on the disk, or has failed.
   */
  Future<Void> finish(Shard shard, boolean leaves) {
    writer.finishWithoutPauses();
    return writing.compose(
        written -> {
          boolean due = config.every() > 0 || config.isTimed() && (leaves || shard.isFinished());
          if (due && shard.version() > startedVersion) {
            write(shard, true);
          }
          writer.finishWithoutPauses();
          return writing;
        });
  }

  private Future<Path> write(Shard shard, boolean inRound) {
    Checkpoint copy = shard.beginCopy(writer.memory(), inRound);
    startedVersion = copy.version();
    ordered = false;
    Future<Path> file =
        ContextBridge.to(vertx.getOrCreateContext(), writer.write(copy, () -> {}))
            .onSuccess(written -> damaged.remove(copy.version()));
    writing = file.<Void>mapEmpty().otherwiseEmpty();
    return file;
  }
}
