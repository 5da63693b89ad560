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
import java.util.function.Consumer;

/**
 * Remembers, for one partition, the last update of each worker that was dealt with and the one that
 * still waits for its answer.
 *
 * <p>The ranks that a job is shared out to are there for good: a replacement repeats its
 * predecessor's step with the same batch, so their updates are known by rank and step, whatever the
 * incarnation, and are never forgotten. Those of other ranks count for one incarnation.
 *
 * <p>Bounded: one step and one waiting answer per worker that takes part. What was dealt with is
 * part of a checkpoint; what waits is not, because it is not in the parameters yet.
 */
public class DuplicateWindow {

  private final int ranks;
  private final Map<Integer, Entry> settled = new HashMap<>();
  private final Map<Integer, Waiting> waiting = new HashMap<>();
  private Consumer<Entry> listener = entry -> {};

  /**
   * The last update of a worker that was dealt with.
   *
   * @param worker its rank
   * @param incarnation its incarnation
   * @param step its step counter
   */
  public record Entry(int worker, int incarnation, long step) {}

  private record Waiting(ExchangeId id, Future<Frame> answer) {}

  /** A window in which each update counts for one incarnation. */
  public DuplicateWindow() {
    this(0);
  }

  /**
   * An empty window.
   *
   * @param ranks that the job is shared out to, from 0 on
   */
  public DuplicateWindow(int ranks) {
    this.ranks = ranks;
  }

  /** True when this update or a later one of its worker has been dealt with. */
  public boolean isSettled(ExchangeId id) {
    Entry last = settled.get(id.worker());
    return last != null
        && isSameWorker(id.worker(), last.incarnation(), id.incarnation())
        && id.step() <= last.step();
  }

  /** Notes that this update has been dealt with. */
  public void settle(ExchangeId id) {
    if (!isSettled(id)) {
      Entry entry = new Entry(id.worker(), id.incarnation(), id.step());
      settled.put(id.worker(), entry);
      listener.accept(entry);
    }
  }

  /** Tells one listener of every update that is dealt with from now on. */
  public void onSettled(Consumer<Entry> someListener) {
    listener = someListener;
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

  /** Forgets everyone who does not take part, but for the ranks that are there for good. */
  public void retain(Membership now) {
    settled
        .values()
        .removeIf(
            last -> last.worker() >= ranks && !now.hasWorker(last.worker(), last.incarnation()));
    waiting.values().removeIf(found -> found.id().worker() >= ranks && !isMember(found, now));
  }

  /** The number of the first step of a rank that has not arrived. */
  public long nextStep(int rank) {
    Entry last = settled.get(rank);
    long dealtWith = last == null ? 0 : last.step() + 1;
    return Math.max(dealtWith, waitingStep(rank).map(step -> step + 1).orElse(0L));
  }

  /** What was dealt with, by rank, for a checkpoint. */
  public List<Entry> entries() {
    return settled.values().stream().sorted(Comparator.comparingInt(Entry::worker)).toList();
  }

  /** Takes over what a checkpoint held. */
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
