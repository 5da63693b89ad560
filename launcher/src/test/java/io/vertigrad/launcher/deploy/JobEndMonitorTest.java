package io.vertigrad.launcher.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class JobEndMonitorTest {

  private static final long ASK_MILLIS = 5;

  private final Vertx vertx = Vertx.vertx();
  private final JobConfig job = JobConfig.read("test", new JsonObject().put("job", "watched"));
  private final AtomicInteger asked = new AtomicInteger();
  private JobEndMonitor watch;

  @BeforeEach
  void startCoordinator() throws Exception {
    vertx
        .eventBus()
        .<JsonObject>consumer(
            job.addresses().coordinator(),
            message -> {
              asked.incrementAndGet();
              message.reply(new JsonObject().put("state", "running"));
            });
    watch = new JobEndMonitor(vertx, job, ASK_MILLIS, ClusterView.of(vertx, job, Role.WORKER));
    watch.listen().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    Awaitility.await().until(() -> asked.get() > 2);
  }

  @AfterEach
  void closeVertx() throws Exception {
    vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  @Test
  void shouldAskNoMoreWhenTheJobIsOver() {
    vertx.eventBus().publish(job.addresses().control(), new JsonObject().put("stop", "done"));
    Awaitility.await().until(() -> watch.over().isComplete());

    assertTrue(watch.over().succeeded());
    assertSilence();
  }

  @Test
  void shouldAskNoMoreWhenItIsClosed() {
    watch.close();

    assertSilence();
  }

  /** Checks that the monitor asks no more; one question may still be in transit. */
  private void assertSilence() {
    int before = asked.get();
    Awaitility.await()
        .during(Duration.ofMillis(40 * ASK_MILLIS))
        .until(() -> asked.get() <= before + 1);
    assertEquals(before, asked.get(), 1);
  }
}
