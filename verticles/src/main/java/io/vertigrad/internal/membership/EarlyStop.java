package io.vertigrad.internal.membership;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.job.StopConfig;
import java.util.Optional;

/** Compares test results and training time with the job's stop settings; single-threaded. */
final class EarlyStop {

  private static final double MILLIS_A_MINUTE = 60_000;

  private final StopConfig config;
  private long trainedMillis;
  private long lookedMillis;

  /**
   * Starts the count of training time.
   *
   * @param nowMillis monotonic
   */
  EarlyStop(StopConfig config, long nowMillis) {
    this.config = config;
    lookedMillis = nowMillis;
  }

  /**
   * Returns an early end if this test is good enough; a test of the initial parameters never is.
   */
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
   * Returns an early end if the job has trained for long enough; called a few times a second.
   *
   * @param nowMillis monotonic
   * @param trains false while the job is paused, or does not run
   * @param version the version that the job has reached
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
