package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.TensorMemory;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * Pulls that wait for a version: at most {@value #LIMIT}, each until a deadline. A repeated pull
 * shares the answer of the first one. Belongs to one event loop.
 */
public final class PullQueue {

  public static final int LIMIT = 8192;

  private final long deadlineNanos;
  private final LongSupplier clock;
  private final Source source;
  private final Map<ExchangeId, Pull> waiting = new LinkedHashMap<>();

  private record Pull(PullRequest request, long sinceNanos, Promise<Frame> promise) {}

  /**
   * The source of the pulled parameters.
   *
   * @param isReached returns true if a pull can be answered now
   * @param answer creates the answer of such a pull
   * @param overdueMessage returns a message with the found and the expected version, for a pull
   *     whose deadline has passed
   */
  public record Source(
      Predicate<PullRequest> isReached,
      Function<PullRequest, Frame> answer,
      Function<PullRequest, String> overdueMessage) {}

  /**
   * Creates an empty queue.
   *
   * @param deadlineMillis longest wait of a pull
   * @param clock monotonic clock in nanoseconds for the waits; use one that stands still while the
   *     job is paused, so that a pause does not end any wait
   * @param source the source of the parameters
   */
  public PullQueue(long deadlineMillis, LongSupplier clock, Source source) {
    this.deadlineNanos = deadlineMillis * 1_000_000;
    this.clock = clock;
    this.source = source;
  }

  /**
   * Answers a pull now, or when the version is reached.
   *
   * @return completes with the answer or a refusal; never fails
   */
  public Future<Frame> pull(PullRequest request) {
    if (source.isReached().test(request)) {
      return Future.succeededFuture(source.answer().apply(request));
    }
    Pull before = waiting.get(request.id());
    if (before != null) {
      return before.promise().future();
    }
    if (waiting.size() >= LIMIT) {
      String full = "partition %s: %s pulls wait already; try again";
      return Future.succeededFuture(
          new Refusal(
              request.id(), Reason.UNAVAILABLE, full.formatted(request.id().partition(), LIMIT)));
    }
    Pull pull = new Pull(request, clock.getAsLong(), Promise.promise());
    waiting.put(request.id(), pull);
    return pull.promise().future();
  }

  /** Answers the waiting pulls whose version is reached now. */
  public void release() {
    if (!waiting.isEmpty()) {
      take(pull -> source.isReached().test(pull.request()))
          .forEach(pull -> pull.promise().complete(answerAfterWait(pull.request())));
    }
  }

  /** Leaves the memory of the answer: who asked may be gone, and the event bus does not say so. */
  private Frame answerAfterWait(PullRequest request) {
    Frame answer = source.answer().apply(request);
    if (answer instanceof ParameterPartition parameters) {
      TensorMemory.leave(parameters.parameters());
    }
    return answer;
  }

  /** Answers what can be answered and refuses pulls that are overdue. Call it regularly. */
  public void tick() {
    release();
    long now = clock.getAsLong();
    take(pull -> now - pull.sinceNanos() >= deadlineNanos)
        .forEach(
            pull -> refuse(pull, Reason.DEADLINE, source.overdueMessage().apply(pull.request())));
  }

  /** Ends every wait with {@code UNAVAILABLE}. */
  public void close(String why) {
    take(pull -> true).forEach(pull -> refuse(pull, Reason.UNAVAILABLE, why));
  }

  private static void refuse(Pull pull, Reason reason, String message) {
    pull.promise().complete(new Refusal(pull.request().id(), reason, message));
  }

  private List<Pull> take(Predicate<Pull> chosen) {
    List<Pull> taken = new ArrayList<>(waiting.values());
    taken.removeIf(chosen.negate());
    taken.forEach(pull -> waiting.remove(pull.request().id()));
    return taken;
  }
}
