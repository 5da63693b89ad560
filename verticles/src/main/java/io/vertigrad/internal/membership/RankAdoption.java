package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.Decision.Adopt;
import io.vertigrad.job.Role;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Moves the rank of a worker that was lost to a live one: that one's process starts a second worker
 * beside it, which joins under the rank. A worker that comes later takes such a rank over.
 *
 * <p>The one asked has the fewest workers in its process. Where nothing comes of it, another is
 * asked after {@value #PATIENCE_MILLIS} ms.
 */
final class RankAdoption {

  /** A process that is started again at once may be quicker than the command. */
  private static final long WAIT_MILLIS = 250;

  private static final long PATIENCE_MILLIS = 10_000;

  /** A rank whose workers broke down so often would break down the next, too. */
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

  /** A worker left. */
  void left(int rank, LeaveReason why) {
    if (why.kind() == LeaveReason.Kind.FAILED) {
      failures.merge(rank, 1, Integer::sum);
    }
  }

  /** Why a rank is given up; empty while none is. */
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

  /** A stage has its part of the model to itself: a replacement would begin anew, unasked. */
  private boolean losesModel() {
    return !config.waitsForMore() && !config.checkpoints();
  }

  /** Looks for ranks that nobody plays; called a few times a second while the job runs. */
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

  /** Workers in this one's process. */
  private long beside(MemberRecord worker) {
    return registry.of(Role.WORKER).stream()
        .filter(other -> other.node().equals(worker.node()))
        .count();
  }
}
