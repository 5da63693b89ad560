package io.vertigrad.examples.runevents;

import io.reactivex.rxjava3.core.Flowable;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvents;
import io.vertigrad.run.Throughput;
import io.vertx.core.Vertx;
import io.vertx.rxjava3.RxHelper;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** Reports a run's throughput, second by second, and its accuracy, as lines of text. */
final class RunReport {

  private RunReport() {}

  /** Returns the lines of a job, until the whole test set has been tested. */
  static Flowable<String> of(Vertx vertx, String job) {
    Flowable<TrainingEvent> events =
        TrainingEvents.of(vertx, job).takeUntil(RunReport::isTheEnd).share();
    Flowable<String> throughput =
        Throughput.windows(events, 1, TimeUnit.SECONDS, RxHelper.scheduler(vertx))
            .map(RunReport::line);
    Flowable<String> accuracy = events.ofType(Evaluated.class).map(RunReport::line);
    return Flowable.merge(throughput, accuracy);
  }

  private static boolean isTheEnd(TrainingEvent event) {
    return event instanceof Evaluated evaluated && evaluated.wholeTestSet();
  }

  private static String line(Throughput second) {
    return String.format(
        Locale.ROOT,
        "%,8.0f samples/s, workers: %d",
        second.samplesPerSecond(),
        second.workers().size());
  }

  private static String line(Evaluated tested) {
    return String.format(
        Locale.ROOT,
        "version %5d  accuracy %.2f %% of %,d%s",
        tested.version(),
        tested.accuracy(),
        tested.samples(),
        tested.wholeTestSet() ? ", the whole test set" : "");
  }
}
