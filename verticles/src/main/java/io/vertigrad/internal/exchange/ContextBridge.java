package io.vertigrad.internal.exchange;

import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Brings what a thread of its own has done back to the context of the verticle that started it. */
public final class ContextBridge {

  private static final Logger LOG = LoggerFactory.getLogger(ContextBridge.class);

  private ContextBridge() {}

  /**
   * The same outcome, completed on {@code context}.
   *
   * <p>A thread may end after its Vert.x was closed, because another member failed meanwhile; then
   * nobody is left to hear of it, and the outcome is only logged.
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
