package io.vertigrad.internal.shard;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The update of each worker that waits for its answer, of one partition. They are no part of a
 * checkpoint, because they are not in the parameters yet.
 *
 * <p>As in the {@link PartitionLedger}, updates of the job's configured ranks are identified by
 * rank and step, those of other ranks by incarnation, too.
 */
final class WaitingUpdates {

  private final int ranks;
  private final Map<Integer, Waiting> waiting = new HashMap<>();

  private record Waiting(ExchangeId id, Future<Frame> answer) {}

  /**
   * Creates an object without updates.
   *
   * @param ranks number of the job's configured ranks, which start at 0
   */
  WaitingUpdates(int ranks) {
    this.ranks = ranks;
  }

  /** Returns the step of this worker's update that still waits for its answer. */
  Optional<Long> step(int worker) {
    return Optional.ofNullable(waiting.get(worker)).map(found -> found.id().step());
  }

  /** Returns the answer that exactly this update waits for. */
  Optional<Future<Frame>> answer(ExchangeId id) {
    Waiting found = waiting.get(id.worker());
    return found != null && isSame(found.id(), id) ? Optional.of(found.answer()) : Optional.empty();
  }

  /** Marks this update as waiting. */
  void await(ExchangeId id, Future<Frame> answer) {
    waiting.put(id.worker(), new Waiting(id, answer));
  }

  /** Marks this update as no longer waiting. */
  void release(ExchangeId id) {
    Waiting found = waiting.get(id.worker());
    if (found != null && isSame(found.id(), id)) {
      waiting.remove(id.worker());
    }
  }

  /** Forgets all workers that are not members, except the permanent ranks. */
  void retain(Membership now) {
    waiting
        .values()
        .removeIf(
            found ->
                found.id().worker() >= ranks
                    && !now.hasWorker(found.id().worker(), found.id().incarnation()));
  }

  private boolean isSame(ExchangeId a, ExchangeId b) {
    boolean sameWorker = a.worker() < ranks || a.incarnation() == b.incarnation();
    return sameWorker && a.step() == b.step();
  }
}
