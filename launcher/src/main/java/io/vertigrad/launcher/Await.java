package io.vertigrad.launcher;

import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.training.JobFailedException;
import io.vertx.core.Future;
import io.vertx.core.VertxException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Blocks the command's own thread until a future completes, with a limit. */
final class Await {

  private static final Logger LOG = LoggerFactory.getLogger(Await.class);

  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private Await() {}

  /**
   * Returns the future's result.
   *
   * @param what names what is awaited, for the error when the limit passes
   * @throws RuntimeException as the future failed with, or a {@link JobFailedException}
   */
  static <T> T result(Future<T> future, long limitSeconds, String what) {
    return result(future.toCompletionStage().toCompletableFuture(), limitSeconds, what);
  }

  private static <T> T result(CompletableFuture<T> result, long limitSeconds, String what) {
    try {
      return result.get(limitSeconds, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause();
      // A VertxException may be no more than a message for the user.
      if (cause instanceof RuntimeException failure && !(cause instanceof VertxException)) {
        throw failure;
      }
      throw new JobFailedException(what + ": " + FailureReason.of(cause), cause);
    } catch (TimeoutException e) {
      throw new JobFailedException("%s took longer than %s s".formatted(what, limitSeconds), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new JobFailedException(what + " was interrupted", e);
    }
  }

  /**
   * Returns the future's result, however long it takes, as long as it makes progress.
   *
   * @param limitSeconds longest time in which {@code stage} may stay the same
   * @param stage says what is being done; called several times a second
   * @throws RuntimeException as {@link #result}
   */
  static <T> T whileProgressing(
      Future<T> future, long limitSeconds, Supplier<String> stage, String what) {
    CompletableFuture<T> result = future.toCompletionStage().toCompletableFuture();
    String last = stage.get();
    long sinceNanos = System.nanoTime();
    while (!result.isDone() && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(LOOK_NANOS);
      String now = stage.get();
      if (!now.equals(last)) {
        last = now;
        sinceNanos = System.nanoTime();
      } else if (System.nanoTime() - sinceNanos > TimeUnit.SECONDS.toNanos(limitSeconds)) {
        throw new JobFailedException(
            "%s: no progress for %s s while %s".formatted(what, limitSeconds, last));
      }
    }
    return result(result, 0, what);
  }

  /**
   * Waits for a cleanup step that nobody depends on. The process ends next, so a failure or a
   * timeout is only logged as a warning. Hazelcast may wait a minute for a member that leaves at
   * the same moment.
   */
  static void cleanUp(Future<?> future, long limitSeconds, String what) {
    try {
      result(future, limitSeconds, what);
    } catch (RuntimeException e) {
      LOG.warn("{}; this process ends without it", e.getMessage());
    }
  }
}
