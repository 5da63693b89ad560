package io.vertigrad.internal.membership;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.job.StopConfig;
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

  /** Whether this test is good enough; that of the initial parameters ends nothing. */
  Optional<EarlyEnd> tested(Evaluated test) {
    if (test.version() == 0) {
      return Optional.empty();
    }
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
