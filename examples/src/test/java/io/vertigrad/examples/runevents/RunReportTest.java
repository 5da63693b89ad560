package io.vertigrad.examples.runevents;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.reactivex.rxjava3.subscribers.TestSubscriber;
import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.job.Role;
import io.vertigrad.testkit.TestProgress;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class RunReportTest {

  private final Vertx vertx = Vertx.vertx();
  private final EventPublisher run = new EventPublisher(vertx, new Addresses("run"));

  @AfterEach
  void closeVertx() throws Exception {
    vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
  }

  @Test
  void shouldReportAccuracyAndThroughputUntilTheWholeTestSetIsTested() throws Exception {
    TestSubscriber<String> lines = RunReport.of(vertx, "run").test();

    run.publish(new Evaluated(0, 10, 500, 1, 81.5, false, ""));
    run.publish(progress(0, 0));
    run.publish(progress(500, 10));
    run.publish(new Evaluated(0, 20, 1_000, 1, 90, true, ""));
    lines.await();

    assertEquals(
        List.of(
            "   2,560 samples/s, workers: 1",
            "version    10  accuracy 81.50 % of 500",
            "version    20  accuracy 90.00 % of 1,000, the whole test set"),
        lines.values().stream().sorted().toList());
  }

  @Test
  void shouldReportMembersThatJoinAndLeave() throws Exception {
    BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    MemberLog.of(vertx, "run", lines::add);

    run.publish(new MemberJoined(0, Role.WORKER, 1, 0, "here", ""));
    run.publish(progress(0, 0));
    run.publish(new MemberLeft(0, Role.WORKER, 1, 0, "finished"));

    assertEquals("joined: worker 1", lines.poll(10, TimeUnit.SECONDS));
    assertEquals("left: worker 1, finished", lines.poll(10, TimeUnit.SECONDS));
  }

  private static TrainingEvent progress(long timeMillis, long step) {
    return TestProgress.of(timeMillis, 0, 0, step, 128 * step, 1);
  }
}
