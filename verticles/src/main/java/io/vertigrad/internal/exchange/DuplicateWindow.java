package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Remembers, for one partition, the last update of each worker that was dealt with and the one that
 * still waits for its answer.
 *
 * <p>Bounded: one step and one waiting answer per worker that takes part. What was dealt with is
 * part of a checkpoint; what waits is not, because it is not in the parameters yet.
 */
public class DuplicateWindow {

  private final Map<Integer, Entry> settled = new HashMap<>();
  private final Map<Integer, Waiting> waiting = new HashMap<>();

  /**
   * The last update of a worker that was dealt with.
   *
   * @param worker its rank
   * @param incarnation its incarnation
   * @param step its step counter
   */
  public record Entry(int worker, int incarnation, long step) {}

  private record Waiting(ExchangeId id, Future<Frame> answer) {}

  /** True when this update or a later one of its worker has been dealt with. */
  public boolean isSettled(ExchangeId id) {
    Entry last = settled.get(id.worker());
    return last != null && last.incarnation() == id.incarnation() && id.step() <= last.step();
  }

  /** Notes that this update has been dealt with. */
  public void settle(ExchangeId id) {
    if (!isSettled(id)) {
      settled.put(id.worker(), new Entry(id.worker(), id.incarnation(), id.step()));
    }
  }

  /** Step of this worker's update that still waits for its answer. */
  public Optional<Long> waitingStep(int worker) {
    return Optional.ofNullable(waiting.get(worker)).map(found -> found.id().step());
  }

  /** The answer this very update still waits for. */
  public Optional<Future<Frame>> waitingAnswer(ExchangeId id) {
    Waiting found = waiting.get(id.worker());
    return found != null && isSame(found.id(), id) ? Optional.of(found.answer()) : Optional.empty();
  }

  /** Notes that this update waits. */
  public void await(ExchangeId id, Future<Frame> answer) {
    waiting.put(id.worker(), new Waiting(id, answer));
  }

  /** Notes that this update no longer waits. */
  public void release(ExchangeId id) {
    Waiting found = waiting.get(id.worker());
    if (found != null && isSame(found.id(), id)) {
      waiting.remove(id.worker());
    }
  }

  /** Forgets everyone who does not take part. */
  public void retain(Membership now) {
    settled.values().removeIf(last -> !now.hasWorker(last.worker(), last.incarnation()));
    waiting
        .values()
        .removeIf(found -> !now.hasWorker(found.id().worker(), found.id().incarnation()));
  }

  /** What was dealt with, by rank, for a checkpoint. */
  public List<Entry> entries() {
    return settled.values().stream().sorted(Comparator.comparingInt(Entry::worker)).toList();
  }

  /** Takes over what a checkpoint held. */
  public void restore(List<Entry> entries) {
    entries.forEach(entry -> settled.put(entry.worker(), entry));
  }

  private static boolean isSame(ExchangeId a, ExchangeId b) {
    return a.incarnation() == b.incarnation() && a.step() == b.step();
  }
}
