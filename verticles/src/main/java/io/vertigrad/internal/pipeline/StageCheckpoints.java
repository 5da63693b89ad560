package io.vertigrad.internal.pipeline;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.CheckpointFailed;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.job.JobConfig;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One member's checkpoints: its stage at every so many steps, the same steps in all stages.
 *
 * <p>A file says which training it is of in its layout's hash, so that an earlier one's in the same
 * folder is never mixed in. Belongs to the stage's thread; writing holds up only this stage.
 */
final class StageCheckpoints {

  private static final Logger LOG = LoggerFactory.getLogger(StageCheckpoints.class);

  private final JobConfig job;
  private final long plan;
  private final CheckpointFolder folder;
  private final Consumer<TrainingEvent> events;

  /**
   * A member's checkpoints.
   *
   * @param plan hash of layout and cuts
   */
  StageCheckpoints(JobConfig job, long plan, Consumer<TrainingEvent> events) {
    this.job = job;
    this.plan = plan;
    this.events = events;
    Path directory =
        job.checkpoint().directory().orElse(Path.of("checkpoints", job.addresses().job()));
    folder = new CheckpointFolder(directory, job.checkpoint().keep());
  }

  /** True at the steps after which a checkpoint is written. */
  boolean due(long version) {
    long every = job.checkpoint().every();
    return every > 0 && version % every == 0;
  }

  /** Writes one; when that fails it says so, and training goes on. */
  Optional<Path> write(int rank, int incarnation, long run, PartitionSnapshot state) {
    ShardSnapshot snapshot =
        new ShardSnapshot(job.addresses().jobHash(), rank, incarnation, plan ^ run, List.of(state));
    long begun = System.nanoTime();
    try {
      Path file = folder.write(snapshot);
      long millis = (System.nanoTime() - begun) / 1_000_000;
      events.accept(
          new CheckpointWritten(
              System.currentTimeMillis(), rank, state.version(), file.toString(), millis));
      return Optional.of(file);
    } catch (IOException e) {
      LOG.warn("{} has no checkpoint of step {}: {}", name(rank), state.version(), e.toString());
      events.accept(
          new CheckpointFailed(System.currentTimeMillis(), rank, state.version(), e.toString()));
      return Optional.empty();
    }
  }

  /** States that whole files of this member hold. */
  List<StageState> points(int rank) {
    return read(rank).stream()
        .map(file -> new StageState(file.version(), file.layout() ^ plan))
        .distinct()
        .toList();
  }

  /** The state of a point that {@link #points} named. */
  PartitionSnapshot restore(int rank, StageState point) {
    return read(rank).stream()
        .filter(file -> file.version() == point.version() && (file.layout() ^ plan) == point.run())
        .findFirst()
        .orElseThrow(
            () ->
                new ExchangeException(
                    "%s: the checkpoint of step %d has gone"
                        .formatted(name(rank), point.version())))
        .partitions()
        .get(0);
  }

  private List<ShardSnapshot> read(int rank) {
    try {
      return folder.allValid(rank, torn -> LOG.warn("checkpoint skipped: {}", torn)).stream()
          .filter(file -> file.job() == job.addresses().jobHash())
          .filter(file -> file.partitions().size() == 1)
          .toList();
    } catch (IOException e) {
      LOG.warn("{} cannot read its checkpoints: {}", name(rank), e.toString());
      return List.of();
    }
  }

  private String name(int rank) {
    return job.pipeline().orElseThrow().name(rank);
  }
}
