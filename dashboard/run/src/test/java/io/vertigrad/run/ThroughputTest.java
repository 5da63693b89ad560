package io.vertigrad.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.reactivex.rxjava3.processors.PublishProcessor;
import io.reactivex.rxjava3.schedulers.TestScheduler;
import io.reactivex.rxjava3.subscribers.TestSubscriber;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class ThroughputTest {

  @Test
  void shouldComputeRatesOfEveryWorkerWhenTotalsArrive() {
    PublishProcessor<TrainingEvent> events = PublishProcessor.create();
    TestScheduler clock = new TestScheduler();
    TestSubscriber<Throughput> windows =
        Throughput.windows(events, 1, TimeUnit.SECONDS, clock).test();

    events.onNext(progress(0, 0, 0));
    events.onNext(progress(1, 0, 0));
    events.onNext(progress(0, 10, 500));
    clock.advanceTimeBy(1, TimeUnit.SECONDS);
    events.onNext(new Evaluated(1, 10, 1_152, 0.5, 87.0, false, "c0ffee"));
    events.onNext(progress(0, 40, 1_500));
    events.onNext(progress(1, 20, 1_000));
    clock.advanceTimeBy(1, TimeUnit.SECONDS);
    clock.advanceTimeBy(1, TimeUnit.SECONDS);

    windows.assertValueCount(2);
    assertEquals(10 * 128 / 0.5, windows.values().get(0).samplesPerSecond(), 1e-9);
    Throughput second = windows.values().get(1);
    assertEquals(1_000, second.timeMillis());
    assertEquals(30 * 128 / 1.0, second.workers().get(0).samplesPerSecond(), 1e-9);
    assertEquals(30 * 0.01, second.workers().get(0).computing(), 1e-9);
    assertEquals(20 * 128 / 1.0, second.workers().get(1).samplesPerSecond(), 1e-9);
  }

  @Test
  void shouldStartANewCountWhenAnotherIncarnationReports() {
    ThroughputBook book = new ThroughputBook();
    book.enter(List.of(progress(0, 100, 1_000)));
    WorkerProgress again = progress(0, 5, 2_000);
    WorkerProgress reborn =
        new WorkerProgress(
            2_000,
            0,
            1,
            5,
            5,
            0,
            again.samples(),
            1,
            Double.NaN,
            0.05,
            0,
            0,
            0,
            0,
            0,
            Map.of(),
            Map.of(),
            Map.of());

    Throughput.WorkerRate rate = book.enter(List.of(reborn)).workers().get(0);

    assertEquals(0, rate.samplesPerSecond());
    assertEquals(1, rate.incarnation());
  }

  @Test
  void shouldMeasureOverTheIntervalBeforeAsWellWhenTheLastTotalFollowsAtOnce() {
    ThroughputBook book = new ThroughputBook();
    book.enter(List.of(progress(0, 0, 1_000)));
    book.enter(List.of(progress(0, 10, 1_300)));

    Throughput.WorkerRate last = book.enter(List.of(progress(0, 11, 1_302))).workers().get(0);

    assertEquals(11 * 128 / 0.302, last.samplesPerSecond(), 1e-9);
  }

  @Test
  void shouldNotReachFartherBackWhenEveryIntervalIsShort() {
    ThroughputBook book = new ThroughputBook();
    for (int i = 0; i < 10; i++) {
      book.enter(List.of(progress(0, i, 1_000 + 50 * i)));
    }

    Throughput.WorkerRate last = book.enter(List.of(progress(0, 20, 1_500))).workers().get(0);

    assertEquals((20 - 8) * 128 / 0.1, last.samplesPerSecond(), 1e-9);
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
