package io.vertigrad.run;

import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Scheduler;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The speed of the workers over one interval.
 *
 * @param timeMillis wall-clock time of the interval's last event
 * @param workers the workers that reported progress, by rank
 */
public record Throughput(long timeMillis, List<WorkerRate> workers) {

  /**
   * Copies the list.
   *
   * @param timeMillis wall-clock time of the interval's last event
   * @param workers the workers that reported progress, by rank
   */
  public Throughput {
    workers = List.copyOf(workers);
  }

  /**
   * The speed of one worker.
   *
   * @param step its last step
   * @param loss mean training loss that it reported last
   * @param computing share of the time spent on gradients, 0 to 1
   * @param exchanging share of the time between a gradient and the next parameters, 0 to 1
   * @param waitingForData share of the time without a batch, 0 to 1
   * @param sentPerSecond bytes of gradients per second
   * @param receivedPerSecond bytes of parameters per second
   * @param sentTo {@code sentPerSecond} by shard, or by worker in a job without servers; if there
   *     are many, the rest is summed under -1
   * @param receivedFrom {@code receivedPerSecond} in the same way
   */
  public record WorkerRate(
      int rank,
      int incarnation,
      long step,
      double loss,
      double samplesPerSecond,
      double computing,
      double exchanging,
      double waitingForData,
      double sentPerSecond,
      double receivedPerSecond,
      Map<Integer, Double> sentTo,
      Map<Integer, Double> receivedFrom) {}

  /**
   * Returns the speed of the workers, interval by interval; an interval without progress is left
   * out. A slow subscriber sees only the newest interval.
   *
   * @param events events of a job
   * @param interval length of an interval, above 0
   * @param unit unit of the length
   * @param scheduler measures the intervals and emits them
   * @return one element for each interval
   */
  public static Flowable<Throughput> windows(
      Flowable<TrainingEvent> events, long interval, TimeUnit unit, Scheduler scheduler) {
    return Flowable.defer(
        () -> {
          ThroughputBook book = new ThroughputBook();
          return events
              .ofType(WorkerProgress.class)
              .buffer(interval, unit, scheduler)
              .filter(progress -> !progress.isEmpty())
              .map(book::enter)
              .onBackpressureLatest();
        });
  }

  /**
   * Returns the speed of all workers together.
   *
   * @return samples per second
   */
  public double samplesPerSecond() {
    return workers.stream().mapToDouble(WorkerRate::samplesPerSecond).sum();
  }
}
