package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.training.JobFailedException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.internal.ContextInternal;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class AwaitTest {

  @Test
  void shouldNameTheMissingResultWhenTheLimitPasses() {
    JobFailedException late =
        assertThrows(
            JobFailedException.class,
            () -> Await.result(Promise.promise().future(), 0, "saving the model"));

    assertEquals("saving the model took longer than 0 s", late.getMessage());
  }

  @Test
  void shouldLeaveTheNameOfTheClassOut() {
    assertEquals(
        "starting: disk on fire", failure(Future.failedFuture(new IOException("disk on fire"))));
    assertEquals("starting: port is taken", failure(Future.failedFuture("port is taken")));
  }

  @Test
  void shouldRethrowErrorsThatCommandsReport() {
    SettingsException wrong = new SettingsException("steps is 0");

    assertSame(
        wrong,
        assertThrows(
            SettingsException.class,
            () -> Await.result(Future.failedFuture(wrong), 1, "starting")));
  }

  private static String failure(Future<?> future) {
    return assertThrows(JobFailedException.class, () -> Await.result(future, 1, "starting"))
        .getMessage();
  }

  @Test
  void shouldContinueWhenTheLeaveRequestIsNotAnswered() {
    assertTimeoutPreemptively(
        Duration.ofSeconds(10),
        () -> Await.cleanUp(Promise.promise().future(), 0, "leaving the cluster"));
  }

  @Test
  void shouldContinueWhenTheLeaveRequestFails() {
    Await.cleanUp(Future.failedFuture(new IllegalStateException("gone")), 1, "leaving");
  }

  @Test
  @Timeout(20)
  void shouldWaitWhileStagesMakeProgressAndNameAStalledOne() {
    AtomicInteger looks = new AtomicInteger();
    Promise<String> slow = Promise.promise();
    Supplier<String> progressing =
        () -> {
          if (looks.incrementAndGet() == 10) {
            slow.complete("saved");
          }
          return "testing, after %d samples".formatted(looks.get());
        };

    assertEquals("saved", Await.whileProgressing(slow.future(), 1, progressing, "saving"));
    JobFailedException stuck =
        assertThrows(
            JobFailedException.class,
            () ->
                Await.whileProgressing(
                    Promise.promise().future(), 0, () -> "reading the parameters", "saving"));

    assertEquals("saving: no progress for 0 s while reading the parameters", stuck.getMessage());
  }

  /** A listener that is added to a completed future runs on its event loop, which may be busy. */
  @Test
  @Timeout(20)
  void shouldReturnTheResultWhenTheEventLoopIsBusyWithSomethingElseNext() {
    Vertx vertx = Vertx.vertx();
    CountDownLatch returned = new CountDownLatch(1);
    ContextInternal loop = (ContextInternal) vertx.getOrCreateContext();
    Promise<String> saved = loop.promise();
    AtomicInteger looks = new AtomicInteger();
    Supplier<String> stage =
        () -> {
          if (looks.incrementAndGet() == 1) {
            loop.runOnContext(
                then -> {
                  saved.complete("saved");
                  awaitUninterruptibly(returned);
                });
          }
          return "saving";
        };

    try {
      assertEquals("saved", Await.whileProgressing(saved.future(), 5, stage, "saving"));
    } finally {
      returned.countDown();
      vertx.close();
    }
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
