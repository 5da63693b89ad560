package io.vertigrad.internal.exchange;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The outcome of another thread completes on the context, unless Vert.x is closed. */
final class ContextBridgeTest {

  @Test
  void shouldCompleteOnTheContextWhenAnotherThreadIsDone() throws Exception {
    Vertx vertx = Vertx.vertx();
    Context home = vertx.getOrCreateContext();
    Promise<String> work = Promise.promise();

    Future<Context> at =
        ContextBridge.to(home, work.future()).map(result -> Vertx.currentContext());
    new Thread(() -> work.complete("done")).start();

    assertSame(home, at.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS));
    vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  @Test
  void shouldStayQuietWhenVertxWasClosed() throws Exception {
    Vertx vertx = Vertx.vertx();
    Promise<String> work = Promise.promise();
    Future<String> home = ContextBridge.to(vertx.getOrCreateContext(), work.future());
    vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);

    assertTrue(work.tryFail("too late"));

    assertFalse(home.isComplete());
  }
}
