package io.vertigrad.verticles.coordinator;

import io.vertigrad.verticles.job.StopConfig;
import io.vertigrad.verticles.metrics.TrainingEvent.Evaluated;
import java.util.Optional;

/** Compares tests and the time of training with what a job is to reach; single-threaded. */
final class EarlyStop {

  private static final double MILLIS_A_MINUTE = 60_000;

  private final StopConfig config;
  private long trainedMillis;
  private long lookedMillis;

  /**
   * @param nowMillis monotonic
   */
  EarlyStop(StopConfig config, long nowMillis) {
    this.config = config;
    lookedMillis = nowMillis;
  }

  /** Whether this test is good enough. */
  Optional<EarlyEnd> tested(Evaluated test) {
    if (config.accuracy().isPresent() && test.accuracy() >= config.accuracy().getAsDouble()) {
      return Optional.of(
          new EarlyEnd(
              "accuracy", config.accuracy().getAsDouble(), test.accuracy(), test.version()));
    }
    if (config.loss().isPresent() && test.loss() <= config.loss().getAsDouble()) {
      return Optional.of(
          new EarlyEnd("loss", config.loss().getAsDouble(), test.loss(), test.version()));
    }
    return Optional.empty();
  }

  /**
   * Whether it has trained for long enough; called a few times a second.
   *
   * @param trains false while the job is paused, or does not run
   * @param version that it has reached
   */
  Optional<EarlyEnd> passed(long nowMillis, boolean trains, long version) {
    trainedMillis += trains ? nowMillis - lookedMillis : 0;
    lookedMillis = nowMillis;
    double minutes = trainedMillis / MILLIS_A_MINUTE;
    return config.minutes().isPresent() && minutes >= config.minutes().getAsDouble()
        ? Optional.of(new EarlyEnd("minutes", config.minutes().getAsDouble(), minutes, version))
        : Optional.empty();
  }
}
