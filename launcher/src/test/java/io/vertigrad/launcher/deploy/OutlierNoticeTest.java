package io.vertigrad.launcher.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.job.JobConfig;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class OutlierNoticeTest {

  private final Vertx vertx = Vertx.vertx();
  private final JobConfig job = JobConfig.read("test", new JsonObject().put("job", "noticed"));
  private final Queue<String> shown = new ConcurrentLinkedQueue<>();

  @AfterEach
  void closeVertx() throws Exception {
    vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  @Test
  void shouldShowTheSentenceAtTheNodeThatItNamesWhenItIsPublishedToAll() throws Exception {
    OutlierNotice.listen(vertx, job.addresses(), job.cluster(), shown::add)
        .toCompletionStage()
        .toCompletableFuture()
        .get(10, TimeUnit.SECONDS);
    String own = job.cluster().nodeName(ProcessHandle.current().pid());

    new OutlierNotice("10.0.0.9 pid 1", "Worker 2 is expelled.").publish(vertx, job.addresses());
    new OutlierNotice(own, "Worker 3 is expelled.").publish(vertx, job.addresses());

    Awaitility.await().until(() -> !shown.isEmpty());
    assertEquals(List.of("Worker 3 is expelled."), List.copyOf(shown));
  }
}
