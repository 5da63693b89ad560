package io.vertigrad.launcher.run;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.observability.EventFold;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Writes a run's events to {@code events.jsonl}, and what they amount to as {@code curves.json}. It
 * writes every event, except that a member's counters and each scalar are written at most once a
 * second; their last value is always written.
 *
 * <p>Single-threaded; a few small writes a second.
 */
public final class RunRecorder implements AutoCloseable {

  private static final long PROGRESS_MILLIS = 1_000;

  private final Path file;
  private final Consumer<String> onProblem;
  private final CurvesFile curves;
  private final OutputStream out;
  private final Map<String, Long> written = new HashMap<>();
  private final Map<String, TrainingEvent> heldBack = new LinkedHashMap<>();
  private final EventFold members =
      new EventFold()
          .on(WorkerProgress.class, e -> limit("worker", e.rank(), e.incarnation(), e))
          .on(PeerExchange.class, e -> limit("peer", e.rank(), e.incarnation(), e))
          .on(ServerProgress.class, e -> limit("server", e.shard(), e.incarnation(), e))
          .on(MemberVitals.class, e -> limit(e.role() + " vitals", e.rank(), e.incarnation(), e))
          .on(ScalarReported.class, e -> limit("scalar", e.name(), e.source(), e));
  private long bytes;
  private boolean full;

  /**
   * Opens the files; earlier records stay, and the curves go on.
   *
   * @param onProblem called once when no more can be written; the run continues
   */
  public RunRecorder(RunDirectory run, Consumer<String> onProblem) {
    this.file = run.events();
    this.onProblem = onProblem;
    try {
      curves = new CurvesFile(run);
      out = Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      bytes = Files.size(file);
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": could not be opened: " + e.getMessage(), e);
    }
  }

  /** Processes the next event. */
  public void record(TrainingEvent event) {
    if (!members.apply(event)) {
      write(event);
    }
  }

  private void limit(Object kind, Object name, Object which, TrainingEvent event) {
    String member = "%s %s %s".formatted(kind, name, which);
    Long last = written.get(member);
    if (last == null || event.timeMillis() - last >= PROGRESS_MILLIS) {
      written.put(member, event.timeMillis());
      heldBack.remove(member);
      write(event);
    } else {
      heldBack.put(member, event);
    }
  }

  /** Writes the last counters and the curves, and closes the files. */
  @Override
  public void close() {
    heldBack.values().forEach(this::write);
    heldBack.clear();
    try {
      out.close();
    } catch (IOException e) {
      giveUp(e);
    }
    curves.write(bytes);
  }

  private void write(TrainingEvent event) {
    if (full) {
      return;
    }
    byte[] line = (event.toJson().encode() + System.lineSeparator()).getBytes(UTF_8);
    try {
      out.write(line);
      bytes += line.length;
      curves.add(event, bytes);
    } catch (IOException e) {
      giveUp(e);
    }
  }

  private void giveUp(IOException why) {
    if (!full) {
      full = true;
      onProblem.accept(
          "%s: no more events can be written: %s; training goes on"
              .formatted(file, why.getMessage()));
    }
  }
}
