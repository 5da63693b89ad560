package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.CoordinatorState.JobProgress;
import io.vertigrad.internal.membership.Decision.Adopt;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Gives the rank of a lost worker to another worker's process: that process starts a second worker,
 * which joins under the rank. A worker that comes later takes the rank over.
 *
 * <p>The process with the fewest workers is asked first. If the rank is still empty after {@value
 * #PATIENCE_MILLIS} ms, a process is asked again.
 */
final class RankAdoption {

  /** A process that is restarted at once may be quicker than the command. */
  private static final long WAIT_MILLIS = 250;

  private static final long PATIENCE_MILLIS = 10_000;

  /** After so many failures of a rank's workers, the next one is expected to fail as well. */
  private static final int FAILURES = 3;

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final JobProgress progress;
  private final Consumer<Decision> decisions;
  private final Map<Integer, Long> askNext = new HashMap<>();
  private final Map<Integer, Integer> failures = new HashMap<>();

  RankAdoption(
      CoordinatorConfig config,
      MemberRegistry registry,
      JobProgress progress,
      Consumer<Decision> decisions) {
    this.config = config;
    this.registry = registry;
    this.progress = progress;
    this.decisions = decisions;
  }

  /** Records that a worker left. */
  void left(int rank, LeaveReason why) {
    if (why.kind() == LeaveReason.Kind.FAILED) {
      failures.merge(rank, 1, Integer::sum);
    }
  }

  /** Returns why a rank is given up; empty while none is. */
  Optional<String> hopeless() {
    return failures.entrySet().stream()
        .filter(rank -> rank.getValue() >= (losesModel() ? 1 : FAILURES))
        .findFirst()
        .map(
            rank ->
                (losesModel()
                        ? "%s broke down (failure %d), and nothing was kept that a replacement could go on"
                            + " from: %s"
                        : "%s broke down %d times, its replacements included: %s")
                    .formatted(
                        config.names().of(Role.WORKER, rank.getKey()),
                        rank.getValue(),
                        registry.departures()));
  }

  /**
   * Returns whether a lost worker takes its part of the model with it: it is a pipeline stage and
   * writes no checkpoints. A replacement would silently start from the initial parameters.
   */
  private boolean losesModel() {
    return !config.waitsForMore() && !config.checkpoints();
  }

  /** Looks for ranks without a worker; called a few times a second while the job runs. */
  void look(boolean running, long nowMillis) {
    if (!running || progress.anyFinished()) {
      askNext.clear();
      return;
    }
    for (int rank = 0; rank < config.workers(); rank++) {
      if (registry.has(Role.WORKER, rank)) {
        askNext.remove(rank);
      } else if (nowMillis >= askNext.computeIfAbsent(rank, r -> nowMillis + WAIT_MILLIS)) {
        askNext.put(rank, nowMillis + PATIENCE_MILLIS);
        ask(rank);
      }
    }
  }

  private void ask(int rank) {
    registry.of(Role.WORKER).stream()
        .filter(worker -> worker.published() && worker.ready())
        .min(Comparator.comparingLong(this::beside).thenComparingInt(MemberRecord::rank))
        .ifPresent(carrier -> decisions.accept(new Adopt(carrier.admission(), rank)));
  }

  /** Returns the number of workers in this worker's process, itself included. */
  private long beside(MemberRecord worker) {
    return registry.of(Role.WORKER).stream()
        .filter(other -> other.node().equals(worker.node()))
        .count();
  }
}
