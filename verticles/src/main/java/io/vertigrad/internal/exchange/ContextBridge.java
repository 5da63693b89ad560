package io.vertigrad.internal.exchange;

import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Completes the outcome of a separate thread on the context of the verticle that started it. */
public final class ContextBridge {

  private static final Logger LOG = LoggerFactory.getLogger(ContextBridge.class);

  private ContextBridge() {}

  /**
   * Returns a future with the same outcome, completed on {@code context}.
   *
   * <p>A thread may end after its Vert.x was closed, because another member failed. Then nobody can
   * receive the outcome any more, and it is only logged.
   */
  public static <T> Future<T> to(Context context, Future<T> outcome) {
    Promise<T> promise = Promise.promise();
    outcome.onComplete(
        (result, failure) -> {
          try {
            context.runOnContext(home -> promise.complete(result, failure));
          } catch (RejectedExecutionException closed) {
            LOG.debug("ended after its Vert.x was closed", failure);
          }
        });
    return promise.future();
  }
}
