package io.vertigrad.launcher.run;

import io.vertigrad.verticles.metrics.TrainingEvent.Evaluated;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * One line per test of the averaged model in a job without servers, as published programs log it:
 * epoch, accumulated synchronisation seconds, loss, accuracy in percent.
 */
public final class EpochLog {

  private final Path file;
  private final Consumer<String> trouble;
  private boolean full;

  /** {@code trouble} is told once, when no more can be written; the run goes on. */
  public EpochLog(Path file, Consumer<String> trouble) {
    this.file = file;
    this.trouble = trouble;
  }

  /** Adds a line; the seconds are the mean over the workers of what they waited for each other. */
  public void record(Evaluated tested, RunProgress progress) {
    if (full) {
      return;
    }
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
      full = true;
      trouble.accept(
          "%s: no more can be written: %s; training goes on".formatted(file, e.getMessage()));
    }
  }
}
