package io.vertigrad.launcher;

import io.vertigrad.training.JobFailedException;
import io.vertx.core.Future;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Blocks the command's own thread until a future completes, with a limit. */
final class Await {

  private static final Logger LOG = LoggerFactory.getLogger(Await.class);

  private static final long REPORT_SECONDS = 10;

  private Await() {}

  /**
   * Returns the future's result.
   *
   * @param what names what is awaited, for the error when the limit passes
   * @throws RuntimeException as the future failed with, or a {@link JobFailedException}
   */
  static <T> T result(Future<T> future, long limitSeconds, String what) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(limitSeconds, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException failure) {
        throw failure;
      }
      throw new JobFailedException(what + ": " + e.getCause(), e.getCause());
    } catch (TimeoutException e) {
      throw new JobFailedException("%s took longer than %d s".formatted(what, limitSeconds), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new JobFailedException(what + " was interrupted", e);
    }
  }

  /**
   * Returns the result of work that takes as long as there is to do, and reports its progress every
   * ten seconds.
   *
   * @param stillSeconds longest time without progress
   * @param what names what is awaited, for the error
   * @param progress grows while the work goes on; called by this thread
   * @param report receives the progress
   * @throws RuntimeException as the future failed with, or a {@link JobFailedException}
   */
  static <T> T whileProgressing(
      Future<T> future,
      long stillSeconds,
      String what,
      LongSupplier progress,
      LongConsumer report) {
    CompletableFuture<T> result = future.toCompletionStage().toCompletableFuture();
    long before = progress.getAsLong();
    long stillSince = System.nanoTime();
    while (!result.isDone()) {
      long left = stillSeconds - TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - stillSince);
      if (left <= 0) {
        throw new JobFailedException(
            "%s made no progress for %d s, after %,d".formatted(what, stillSeconds, before));
      }
      try {
        result.get(Math.min(left, REPORT_SECONDS), TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        long now = progress.getAsLong();
        if (now > before) {
          before = now;
          stillSince = System.nanoTime();
          report.accept(now);
        }
      } catch (ExecutionException e) {
        break;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new JobFailedException(what + " was interrupted", e);
      }
    }
    return result(future, 0, what);
  }

  /**
   * Waits for a cleanup step that nobody depends on. The process ends next, so a failure or a
   * timeout is only logged as a warning. Hazelcast may wait a minute for a member that leaves at
   * the same moment.
   */
  static void farewell(Future<?> future, long limitSeconds, String what) {
    try {
      result(future, limitSeconds, what);
    } catch (RuntimeException e) {
      LOG.warn("{}; this process ends without it", e.getMessage());
    }
  }
}
