package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.vertigrad.training.JobFailedException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.time.Duration;
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
}
