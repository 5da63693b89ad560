package io.vertigrad.training;

import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.StreamTested;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** The figures of a job's result, by its events and the time they took. Used by one thread. */
final class TrainingHistory {

  private final LongSupplier nanoClock;
  private final Map<Integer, StreamTests> streams = new TreeMap<>();
  private Optional<Evaluated> wholeTestSet = Optional.empty();
  private double bestAccuracy = Double.NaN;
  private double bestLoss = Double.NaN;
  private boolean started;
  private boolean ended;
  private long startedNanos;
  private long endedNanos;
  private long pausedNanos;

  /** Creates an empty history; {@code nanoClock} gives monotonic nanoseconds. */
  TrainingHistory(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  /** Processes the next event. */
  void apply(TrainingEvent event) {
    if (event instanceof Evaluated test) {
      tested(test);
    } else if (event instanceof StreamTested test) {
      streams.put(test.rank(), test.tests());
    } else if (event instanceof JobResumed resumed) {
      pausedNanos += TimeUnit.MILLISECONDS.toNanos(resumed.pausedMillis());
    } else if (event instanceof JobStarted && !started) {
      started = true;
      startedNanos = nanoClock.getAsLong();
    } else if (event instanceof JobFinished
        || event instanceof JobStopped
        || event instanceof JobFailed) {
      end();
    }
  }

  /** Stops the clock; a second call changes nothing. */
  void end() {
    if (started && !ended) {
      ended = true;
      endedNanos = nanoClock.getAsLong();
    }
  }

  /** Returns whether the job has started. */
  boolean isStarted() {
    return started;
  }

  /** Returns the newest test on the whole test set. */
  Optional<Evaluated> wholeTestSet() {
    return wholeTestSet;
  }

  /**
   * Returns the result of the job.
   *
   * @param state how it ended
   * @param version version of the parameters at the end
   * @param samples number of samples that were applied
   * @param last the test of the parameters at the end; empty when they could not be read
   * @param reason why it ended early, or empty
   */
  TrainingResult result(
      TrainingResult.State state,
      long version,
      long samples,
      Optional<Evaluated> last,
      String reason) {
    end();
    Optional<Evaluated> tested = last.filter(test -> test.samples() > 0);
    double streamed =
        streams.values().stream()
            .reduce(StreamTests::plus)
            .filter(tests -> !tests.values())
            .map(tests -> tests.asTest(tests.figure()))
            .orElse(Double.NaN);
    return new TrainingResult(
        state,
        version,
        samples,
        Duration.ofNanos(Math.max(0, endedNanos - startedNanos - pausedNanos)),
        tested.map(Evaluated::accuracy).orElse(streamed),
        tested.map(Evaluated::loss).orElse(Double.NaN),
        bestAccuracy,
        bestLoss,
        last.map(Evaluated::parametersHash).orElse(""),
        reason);
  }

  private void tested(Evaluated test) {
    wholeTestSet = test.wholeTestSet() ? Optional.of(test) : wholeTestSet;
    if (test.samples() <= 0) {
      return;
    }
    bestAccuracy =
        Double.isNaN(bestAccuracy) ? test.accuracy() : Math.max(bestAccuracy, test.accuracy());
    bestLoss = Double.isNaN(bestLoss) ? test.loss() : Math.min(bestLoss, test.loss());
  }
}
