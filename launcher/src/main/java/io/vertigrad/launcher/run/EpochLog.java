package io.vertigrad.launcher.run;

import io.vertigrad.verticles.metrics.TrainingEvent.Evaluated;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;

/**
 * One line per test of the averaged model in a job without servers, as published programs log it:
 * epoch, accumulated synchronisation seconds, loss, accuracy in percent.
 */
public final class EpochLog {

  private final Path file;

  public EpochLog(Path file) {
    this.file = file;
  }

  /** Adds a line; the seconds are the mean over the workers of what they waited for each other. */
  public void record(Evaluated tested, RunProgress progress) {
    String line =
        String.format(
            Locale.ROOT,
            "%.3f %.3f %.4f %.2f%n",
            progress.replicas().epochs(tested.version()),
            progress.replicas().secondsWaited(),
            tested.loss(),
            tested.accuracy());
    try {
      Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": could not be written: " + e.getMessage(), e);
    }
  }
}
