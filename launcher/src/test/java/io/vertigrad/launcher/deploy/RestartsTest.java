package io.vertigrad.launcher.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonObject;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class RestartsTest {

  private static final String CHECKPOINTS = "\"checkpoint\": {\"every\": 50}";
  private static final String PIPELINE = "\"pipeline\": {\"stages\": 2}";

  @Test
  void shouldCountEachProcessSeparately() {
    Restarts restarts = restarts("\"cluster\": {\"restarts\": 2}");

    assertTrue(restarts.claim("worker-0"));
    assertTrue(restarts.claim("worker-0"));
    assertFalse(restarts.claim("worker-0"));
    assertTrue(restarts.claim("worker-1"));
    assertEquals(2, restarts.made("worker-0"));
    assertEquals(0, restarts.made("server-0"));
  }

  /** Otherwise a run of days would be given up after a handful of unrelated failures. */
  @Test
  void shouldForgetARestartAfterTenMinutes() {
    AtomicLong minutes = new AtomicLong();
    JobConfig job = JobConfig.read("test", new JsonObject("{\"cluster\": {\"restarts\": 2}}"));
    Restarts restarts = new Restarts(job, () -> TimeUnit.MINUTES.toNanos(minutes.get()));
    assertTrue(restarts.claim("worker-0"));
    minutes.set(4);
    assertTrue(restarts.claim("worker-0"));

    minutes.set(9);
    assertFalse(restarts.claim("worker-0"));

    minutes.set(10);
    assertEquals(1, restarts.recent("worker-0"));
    assertTrue(restarts.claim("worker-0"));
    assertFalse(restarts.claim("worker-0"));
    assertEquals(3, restarts.made("worker-0"), "each restart has a log of its own");
  }

  @Test
  void shouldNeverStartAgainWhenTheJobSaysSo() {
    assertFalse(restarts("\"cluster\": {\"restarts\": 0}").claim("worker-0"));
  }

  @Test
  void shouldLoseParametersWithTheirOnlyHolderWhenThereAreNoCheckpoints() {
    assertTrue(restarts("").lostWith(Role.SERVER).contains("checkpoint.seconds is 0"));
    assertTrue(restarts(PIPELINE).lostWith(Role.WORKER).contains("checkpoint.seconds is 0"));
    assertEquals("", restarts("").lostWith(Role.WORKER));
    assertEquals("", restarts("").lostWith(Role.EVALUATOR));
  }

  @Test
  void shouldLoseNothingPermanentlyWhenThereAreCheckpoints() {
    assertEquals("", restarts(CHECKPOINTS).lostWith(Role.SERVER));
    assertEquals("", restarts(CHECKPOINTS + ", " + PIPELINE).lostWith(Role.WORKER));
  }

  private static Restarts restarts(String keys) {
    return new Restarts(JobConfig.read("test", new JsonObject("{" + keys + "}")));
  }
}
