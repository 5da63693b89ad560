package io.vertigrad.launcher.run;

import io.vertigrad.dashboard.RunCurves;
import io.vertigrad.events.TrainingEvent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes {@code curves.json}, the curves of a run by the events in its {@code events.jsonl}: every
 * {@value #INTERVAL_MILLIS} ms of the events' time, and at the end. A run without it can still be
 * shown, from all its events. Single-threaded.
 */
final class CurvesFile {

  /** A reader may have to read the events of this time in addition. */
  static final long INTERVAL_MILLIS = 10_000;

  /** A resumed run reads events before its start for no longer. */
  private static final long MOST_NANOS = 5_000_000_000L;

  private static final Logger LOG = LoggerFactory.getLogger(CurvesFile.class);

  private final RunDirectory run;
  private Optional<RunCurves> curves;
  private long lastMillis;

  /** Goes on with the curves of an earlier coordinator of the run, if there was one. */
  CurvesFile(RunDirectory run) {
    this.run = run;
    this.curves = begin();
  }

  private Optional<RunCurves> begin() {
    if (Files.notExists(run.events())) {
      return Optional.of(new RunCurves());
    }
    long begun = System.nanoTime();
    try {
      return Optional.of(
          RunCurves.read(
              run.curves(),
              run.events(),
              Long.MAX_VALUE,
              () -> System.nanoTime() - begun > MOST_NANOS));
    } catch (IOException | CancellationException e) {
      LOG.warn("{} is not written: {}", run.curves(), e.toString());
      return Optional.empty();
    }
  }

  /**
   * Adds an event that was written.
   *
   * @param bytes length of {@code events.jsonl} with it
   */
  void add(TrainingEvent event, long bytes) {
    curves.ifPresent(all -> all.apply(event));
    lastMillis = lastMillis == 0 ? event.timeMillis() : lastMillis;
    if (event.timeMillis() - lastMillis >= INTERVAL_MILLIS) {
      lastMillis = event.timeMillis();
      write(bytes);
    }
  }

  /**
   * Writes the file, unless that has failed before.
   *
   * @param bytes length of {@code events.jsonl}
   */
  void write(long bytes) {
    try {
      curves.ifPresent(all -> run.replace(run.curves(), all.save(bytes).encode()));
    } catch (UncheckedIOException e) {
      curves = Optional.empty();
      LOG.warn("no more curves are written", e);
    }
  }
}
