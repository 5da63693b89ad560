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
 * Remembers, for one partition, the last settled update of each worker and the update that still
 * waits for its answer.
 *
 * <p>The job's configured ranks are permanent: a replacement repeats its predecessor's step with
 * the same batch. Their updates are identified by rank and step, whatever the incarnation, and are
 * never forgotten. Updates of other ranks are identified by incarnation, too.
 *
 * <p>The size is limited to one step and one waiting answer per member. Settled updates are part of
 * a checkpoint. Waiting updates are not, because they are not in the parameters yet.
 */
public class DuplicateWindow {

  private final int ranks;
  private final Map<Integer, Entry> settled = new HashMap<>();
  private final Map<Integer, Waiting> waiting = new HashMap<>();

  /**
   * The last settled update of a worker.
   *
   * @param worker its rank
   * @param incarnation its incarnation
   * @param step its step counter
   */
  public record Entry(int worker, int incarnation, long step) {}

  private record Waiting(ExchangeId id, Future<Frame> answer) {}

  /** Creates a window without permanent ranks: each update counts for one incarnation. */
  public DuplicateWindow() {
    this(0);
  }

  /**
   * Creates an empty window.
   *
   * @param ranks number of the job's configured ranks, which start at 0
   */
  public DuplicateWindow(int ranks) {
    this.ranks = ranks;
  }

  /** Returns true if this update or a later one of its worker has been settled. */
  public boolean isSettled(ExchangeId id) {
    Entry last = settled.get(id.worker());
    return last != null
        && isSameWorker(id.worker(), last.incarnation(), id.incarnation())
        && id.step() <= last.step();
  }

  /** Marks this update as settled. */
  public void settle(ExchangeId id) {
    if (!isSettled(id)) {
      settled.put(id.worker(), new Entry(id.worker(), id.incarnation(), id.step()));
    }
  }

  /** Returns the step of this worker's update that still waits for its answer. */
  public Optional<Long> waitingStep(int worker) {
    return Optional.ofNullable(waiting.get(worker)).map(found -> found.id().step());
  }

  /** Returns the answer that exactly this update waits for. */
  public Optional<Future<Frame>> waitingAnswer(ExchangeId id) {
    Waiting found = waiting.get(id.worker());
    return found != null && isSame(found.id(), id) ? Optional.of(found.answer()) : Optional.empty();
  }

  /** Marks this update as waiting. */
  public void await(ExchangeId id, Future<Frame> answer) {
    waiting.put(id.worker(), new Waiting(id, answer));
  }

  /** Marks this update as no longer waiting. */
  public void release(ExchangeId id) {
    Waiting found = waiting.get(id.worker());
    if (found != null && isSame(found.id(), id)) {
      waiting.remove(id.worker());
    }
  }

  /** Forgets all workers that are not members, except the permanent ranks. */
  public void retain(Membership now) {
    settled
        .values()
        .removeIf(
            last -> last.worker() >= ranks && !now.hasWorker(last.worker(), last.incarnation()));
    waiting.values().removeIf(found -> found.id().worker() >= ranks && !isMember(found, now));
  }

  /** Returns the first step of a rank that has not arrived. */
  public long nextStep(int rank) {
    Entry last = settled.get(rank);
    long dealtWith = last == null ? 0 : last.step() + 1;
    return Math.max(dealtWith, waitingStep(rank).map(step -> step + 1).orElse(0L));
  }

  /** Returns the settled updates by rank, for a checkpoint. */
  public List<Entry> entries() {
    return settled.values().stream().sorted(Comparator.comparingInt(Entry::worker)).toList();
  }

  /** Restores the settled updates of a checkpoint. */
  public void restore(List<Entry> entries) {
    entries.forEach(entry -> settled.put(entry.worker(), entry));
  }

  private static boolean isMember(Waiting found, Membership now) {
    return now.hasWorker(found.id().worker(), found.id().incarnation());
  }

  private boolean isSame(ExchangeId a, ExchangeId b) {
    return isSameWorker(a.worker(), a.incarnation(), b.incarnation()) && a.step() == b.step();
  }

  private boolean isSameWorker(int rank, int incarnation, int other) {
    return rank < ranks || incarnation == other;
  }
}
