package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.vertigrad.training.JobFailedException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class AwaitTest {

  @Test
  void shouldNameWhatDidNotComeWhenTheLimitPasses() {
    JobFailedException late =
        assertThrows(
            JobFailedException.class,
            () -> Await.result(Promise.promise().future(), 0, "saving the model"));

    assertEquals("saving the model took longer than 0 s", late.getMessage());
  }

  @Test
  void shouldGoOnWhenFarewellIsNeverAnswered() {
    assertTimeoutPreemptively(
        Duration.ofSeconds(10),
        () -> Await.farewell(Promise.promise().future(), 0, "leaving the cluster"));
  }

  @Test
  void shouldGoOnWhenFarewellFails() {
    Await.farewell(Future.failedFuture(new IllegalStateException("gone")), 1, "leaving");
  }

  /** Counts to 3 while it is asked, then stands still. */
  @Test
  @Tag("slow")
  void shouldWaitForWorkAsLongAsItMakesProgress() {
    AtomicLong done = new AtomicLong();
    List<Long> reported = new ArrayList<>();

    JobFailedException still =
        assertThrows(
            JobFailedException.class,
            () ->
                Await.whileProgressing(
                    Promise.promise().future(),
                    1,
                    "reading the run",
                    () -> Math.min(3, done.getAndIncrement()),
                    reported::add));

    assertEquals("reading the run made no progress for 1 s, after 3", still.getMessage());
    assertEquals(List.of(1L, 2L, 3L), reported);
  }

  @Test
  void shouldReturnOrThrowWhatWorkWithProgressEndsWith() {
    assertEquals(
        7,
        Await.<Integer>whileProgressing(
            Future.succeededFuture(7), 1, "reading", () -> 0, read -> {}));
    assertEquals(
        "no file",
        assertThrows(
                IllegalStateException.class,
                () ->
                    Await.whileProgressing(
                        Future.failedFuture(new IllegalStateException("no file")),
                        1,
                        "reading",
                        () -> 0,
                        read -> {}))
            .getMessage());
  }
}
