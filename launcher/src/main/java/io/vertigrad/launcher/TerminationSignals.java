package io.vertigrad.launcher;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jline.utils.Signals;

/**
 * Handles Ctrl-C, {@code kill} and a closed terminal. The first signal asks for an orderly end; the
 * second ends this process and its child processes at once. Signals that this process ignored from
 * its start stay ignored.
 */
final class TerminationSignals implements AutoCloseable {

  /** Exit codes: 128 plus the signal's number. */
  private static final Map<String, Integer> STATUS = Map.of("HUP", 129, "INT", 130, "TERM", 143);

  /**
   * A signal this soon after the first counts as the same one. A wrapper may pass on a signal that
   * its whole process group receives anyway, and on a busy machine the second arrives late.
   */
  private static final long SAME_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Map<String, Object> former = new LinkedHashMap<>();
  private final Promise<Integer> first = Promise.promise();
  private final Runnable onSignal;
  private volatile Supplier<List<ProcessHandle>> others = List::of;
  private volatile BooleanSupplier ends = () -> false;
  private long firstNanos;
  private boolean requested;

  /**
   * Starts watching for signals.
   *
   * @param onSignal called once, on a separate thread, when the first signal arrives
   */
  TerminationSignals(Runnable onSignal) {
    this.onSignal = onSignal;
    STATUS.keySet().forEach(n -> former.put(n, Signals.register(n, () -> received(n))));
  }

  /** Ignores Ctrl-C in a standby, which its parent ends when that has ended in good order. */
  static void leaveInterruptsToParent() {
    Signals.register("INT", () -> {});
  }

  /** Sets the processes that a second signal ends, in addition to the child processes. */
  void endWith(Supplier<List<ProcessHandle>> some) {
    others = some;
  }

  /** Ignores further signals while this process ends by itself within seconds. */
  void ignoreFurtherWhile(BooleanSupplier endsByItself) {
    ends = endsByItself;
  }

  /** Completes with the exit code of the first signal. */
  Future<Integer> first() {
    return first.future();
  }

  /** Returns the exit code of the first signal; empty before it arrives. */
  Optional<Integer> status() {
    return Optional.ofNullable(first.future().result());
  }

  /**
   * Returns the same future, except that it fails with a {@link Received} when a signal arrives
   * first.
   */
  <T> Future<T> orElse(Future<T> awaited) {
    Promise<T> outcome = Promise.promise();
    first.future().onSuccess(status -> outcome.tryFail(new Received(status)));
    awaited.onSuccess(outcome::tryComplete).onFailure(outcome::tryFail);
    return outcome.future();
  }

  /** Restores the former signal handlers. */
  @Override
  public void close() {
    former.forEach(Signals::unregister);
  }

  /**
   * Does what a first {@code kill} does. The next signal counts as the same request, because a
   * container's runtime sends one after its hook has asked.
   */
  synchronized void request() {
    if (!first.future().isComplete()) {
      received("TERM");
      requested = true;
    }
  }

  /** Handles a signal. */
  synchronized void received(String name) {
    int status = STATUS.get(name);
    if (!first.future().isComplete()) {
      firstNanos = System.nanoTime();
      onSignal.run();
      first.complete(status);
    } else if (requested) {
      firstNanos = System.nanoTime();
      requested = false;
    } else if (System.nanoTime() - firstNanos > SAME_NANOS && !ends.getAsBoolean()) {
      ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
      others.get().forEach(ProcessHandle::destroyForcibly);
      Runtime.getRuntime().halt(status);
    }
  }

  /** Reports that a signal arrived while something else was awaited. */
  static final class Received extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final int status;

    private Received(int status) {
      super("a signal came, exit code " + status, null, false, false);
      this.status = status;
    }

    /** Returns the exit code of the signal. */
    int status() {
      return status;
    }
  }
}
