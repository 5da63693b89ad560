package io.vertigrad.launcher;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jline.utils.Signals;

/**
 * Ctrl-C, {@code kill} and a closed terminal: the first asks for an orderly end, the second ends
 * this process and those it has started at once. Signals that this process was told to ignore when
 * it was started stay ignored.
 */
final class TerminationSignals implements AutoCloseable {

  /** Exit codes: 128 and the signal's number. */
  private static final Map<String, Integer> STATUS = Map.of("HUP", 129, "INT", 130, "TERM", 143);

  /** A wrapper may pass a signal on that its whole process group gets anyway. */
  private static final long SAME_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  private final Map<String, Object> former = new LinkedHashMap<>();
  private final Promise<Integer> first = Promise.promise();
  private final Runnable heard;
  private volatile Supplier<List<ProcessHandle>> others = List::of;
  private long firstNanos;

  /**
   * Watches from now on.
   *
   * @param heard called once, on a thread of its own, when the first signal comes
   */
  TerminationSignals(Runnable heard) {
    this.heard = heard;
    STATUS.keySet().forEach(n -> former.put(n, Signals.register(n, () -> received(n))));
  }

  /** Ignores Ctrl-C in a process that ends when the one that started it does. */
  static void leaveInterruptsToParent() {
    Signals.register("INT", () -> {});
  }

  /** Says which processes a second signal ends besides those that this one has started. */
  void endWith(Supplier<List<ProcessHandle>> some) {
    others = some;
  }

  /** Completes with the exit code that the first signal stands for. */
  Future<Integer> first() {
    return first.future();
  }

  /** The same future, which fails with a {@link Received} when a signal comes before its end. */
  <T> Future<T> orElse(Future<T> awaited) {
    Promise<T> outcome = Promise.promise();
    first.future().onSuccess(status -> outcome.tryFail(new Received(status)));
    awaited.onSuccess(outcome::tryComplete).onFailure(outcome::tryFail);
    return outcome.future();
  }

  /** Leaves signals to whoever had them before. */
  @Override
  public void close() {
    former.forEach(Signals::unregister);
  }

  private synchronized void received(String name) {
    int status = STATUS.get(name);
    if (!first.future().isComplete()) {
      firstNanos = System.nanoTime();
      heard.run();
      first.complete(status);
    } else if (System.nanoTime() - firstNanos > SAME_NANOS) {
      ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
      others.get().forEach(ProcessHandle::destroyForcibly);
      Runtime.getRuntime().halt(status);
    }
  }

  /** A signal came while something else was awaited. */
  static final class Received extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final int status;

    private Received(int status) {
      super("a signal came, exit code " + status, null, false, false);
      this.status = status;
    }

    /** The exit code it stands for. */
    int status() {
      return status;
    }
  }
}
