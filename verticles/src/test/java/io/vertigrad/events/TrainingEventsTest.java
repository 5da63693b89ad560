package io.vertigrad.events;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.reactivex.rxjava3.exceptions.MissingBackpressureException;
import io.reactivex.rxjava3.processors.PublishProcessor;
import io.reactivex.rxjava3.subscribers.TestSubscriber;
import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.Progress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class TrainingEventsTest {

  private static final Evaluated EVALUATED =
      new Evaluated(1, 10, 1_152, 0.5, 87.0, false, "c0ffee");

  private final PublishProcessor<JsonObject> arriving = PublishProcessor.create();

  @Test
  void shouldDropTheOldestProgressAndKeepEvaluationsWhenTheSubscriberIsSlow() {
    TestSubscriber<TrainingEvent> slow = TrainingEvents.of(arriving).test(0);
    arriving.onNext(progress(0, 0, 0).toJson());
    arriving.onNext(EVALUATED.toJson());
    for (int step = 1; step <= 2 * EventBacklog.CAPACITY; step++) {
      arriving.onNext(progress(0, step, 0).toJson());
    }

    slow.request(Long.MAX_VALUE);

    List<TrainingEvent> seen = slow.values();
    assertEquals(1, seen.stream().filter(EVALUATED::equals).count());
    assertEquals(progress(0, 2 * EventBacklog.CAPACITY, 0), seen.get(seen.size() - 1));
    assertEquals(EventBacklog.CAPACITY + 1, seen.size());
    slow.assertNoErrors();
  }

  static Stream<TrainingEvent> everyKindOfProgress() {
    return TrainingEventJsonTest.everyType().stream().filter(Progress.class::isInstance);
  }

  @ParameterizedTest
  @MethodSource("everyKindOfProgress")
  void shouldKeepEveryLandmarkWhenFiveThousandReportsOfAnyKindWait(TrainingEvent report) {
    TestSubscriber<TrainingEvent> slow = TrainingEvents.of(arriving).test(0);
    List<TrainingEvent> landmarks =
        TrainingEventJsonTest.everyType().stream()
            .filter(event -> !(event instanceof Progress))
            .toList();
    for (int i = 0; i < 5_000; i++) {
      arriving.onNext(report.toJson());
      if (i % 250 == 0) {
        arriving.onNext(landmarks.get(i / 250).toJson());
      }
    }

    slow.request(Long.MAX_VALUE);

    slow.assertNoErrors();
    List<TrainingEvent> seen =
        slow.values().stream().filter(event -> !(event instanceof Progress)).toList();
    assertEquals(landmarks.subList(0, 20), seen);
    assertEquals(report, slow.values().get(slow.values().size() - 1));
  }

  @Test
  void shouldCancelASubscriberThatFallsTooFarBehind() {
    TestSubscriber<TrainingEvent> stuck = TrainingEvents.of(arriving).test(0);

    for (int i = 0; i < EventBacklog.CAPACITY + 2; i++) {
      arriving.onNext(EVALUATED.toJson());
    }
    stuck.request(Long.MAX_VALUE);

    stuck.assertError(MissingBackpressureException.class);
  }

  @Test
  void shouldLeaveOutEventsOfUnknownTypes() {
    TestSubscriber<TrainingEvent> subscriber = TrainingEvents.of(arriving).test();

    arriving.onNext(new JsonObject().put("type", "weather"));
    arriving.onNext(EVALUATED.toJson());

    subscriber.assertValuesOnly(EVALUATED);
  }

  @Test
  @Timeout(10)
  void shouldReceiveEventsOfOneJobUntilCancelled() throws InterruptedException {
    Vertx vertx = Vertx.vertx();
    TestSubscriber<TrainingEvent> subscriber = TrainingEvents.of(vertx, "mine").take(2).test();
    new EventPublisher(vertx, new Addresses("other")).publish(new JobFinished(1, 1, 1));
    EventPublisher mine = new EventPublisher(vertx, new Addresses("mine"));

    mine.publish(EVALUATED);
    mine.publish(new JobFinished(2, 2, 2));

    subscriber.await();
    subscriber.assertResult(EVALUATED, new JobFinished(2, 2, 2));
    vertx.close().toCompletionStage().toCompletableFuture().join();
  }

  /** Creates the progress of a worker with 128 samples and 10 ms of computing per step. */
  private static WorkerProgress progress(int rank, long step, long timeMillis) {
    return new WorkerProgress(
        timeMillis,
        rank,
        0,
        step,
        step,
        0,
        128 * step,
        1,
        Double.NaN,
        0.01 * step,
        0,
        0,
        0,
        0,
        0,
        Map.of(),
        Map.of(),
        Map.of());
  }
}
