package io.vertigrad.serving.internal;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class ServingResourcesTest {

  private final Vertx members = Vertx.vertx();

  @AfterEach
  void close() throws Exception {
    get(members.close());
  }

  @Test
  void shouldShareThreadsAndMemoryUntilTheLastPredictorIsGone() throws Exception {
    ServingResources first = ServingResources.acquire(members);
    ServingResources second = ServingResources.acquire(members);

    assertSame(first.http(), second.http());
    assertSame(first.memory(), second.memory());
    assertNotSame(members, first.http());
    get(first.release(members));
    get(first.http().executeBlocking(() -> null));
    get(second.release(members));
    assertThrows(
        RejectedExecutionException.class, () -> get(first.http().executeBlocking(() -> null)));
    ServingResources third = ServingResources.acquire(members);
    assertNotSame(first.http(), third.http());
    get(third.release(members));
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }
}
