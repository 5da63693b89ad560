package io.vertigrad.internal.exchange;

import io.vertx.core.Future;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/** Lets a separate thread wait for a future. Never use it on an event loop. */
public final class FutureAwait {

  private static final long POLL_MILLIS = 50;

  private FutureAwait() {}

  /**
   * Blocks until the future has completed.
   *
   * @param stop ends the wait early; checked every 50 ms
   * @return the result; empty if stopped, or for a null result
   * @throws RuntimeException the failure of the future
   */
  public static <T> Optional<T> await(Future<T> future, BooleanSupplier stop) {
    CompletableFuture<T> result = future.toCompletionStage().toCompletableFuture();
    while (!stop.getAsBoolean()) {
      try {
        return Optional.ofNullable(result.get(POLL_MILLIS, TimeUnit.MILLISECONDS));
      } catch (TimeoutException notYet) {
        continue;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return Optional.empty();
      } catch (ExecutionException e) {
        throw e.getCause() instanceof RuntimeException known
            ? known
            : new IllegalStateException(e.getCause());
      }
    }
    return Optional.empty();
  }
}
