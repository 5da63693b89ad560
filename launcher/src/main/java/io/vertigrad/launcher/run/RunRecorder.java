package io.vertigrad.launcher.run;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Writes a run's events to {@code events.jsonl}. It writes every event, except that a member's
 * counters and each scalar are written at most once a second; their last value is always written.
 *
 * <p>Single-threaded; a few small writes a second.
 */
public final class RunRecorder implements AutoCloseable {

  private static final long PROGRESS_MILLIS = 1_000;

  private final Path file;
  private final Consumer<String> onProblem;
  private final BufferedWriter writer;
  private final Map<String, Long> written = new HashMap<>();
  private final Map<String, TrainingEvent> heldBack = new LinkedHashMap<>();
  private boolean full;

  /**
   * Opens the file; earlier records stay.
   *
   * @param onProblem called once when no more can be written; the run continues
   */
  public RunRecorder(Path file, Consumer<String> onProblem) {
    this.file = file;
    this.onProblem = onProblem;
    try {
      writer = Files.newBufferedWriter(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": could not be opened: " + e.getMessage(), e);
    }
  }

  /** Processes the next event. */
  public void record(TrainingEvent event) {
    String member = member(event);
    if (member == null) {
      write(event);
      return;
    }
    Long last = written.get(member);
    if (last == null || event.timeMillis() - last >= PROGRESS_MILLIS) {
      written.put(member, event.timeMillis());
      heldBack.remove(member);
      write(event);
    } else {
      heldBack.put(member, event);
    }
  }

  /** Writes the last counters and closes the file. */
  @Override
  public void close() {
    heldBack.values().forEach(this::write);
    heldBack.clear();
    try {
      writer.close();
    } catch (IOException e) {
      giveUp(e);
    }
  }

  private void write(TrainingEvent event) {
    if (full) {
      return;
    }
    try {
      writer.write(event.toJson().encode());
      writer.newLine();
      writer.flush();
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

  private static String member(TrainingEvent event) {
    if (event instanceof WorkerProgress worker) {
      return "worker " + worker.rank() + " " + worker.incarnation();
    }
    if (event instanceof PeerExchange peer) {
      return "peer " + peer.rank() + " " + peer.incarnation();
    }
    if (event instanceof ServerProgress server) {
      return "server " + server.shard() + " " + server.incarnation();
    }
    if (event instanceof MemberVitals member) {
      return member.role().lower() + " vitals " + member.rank() + " " + member.incarnation();
    }
    if (event instanceof ScalarReported scalar) {
      return "scalar " + scalar.name() + " " + scalar.source();
    }
    return null;
  }
}
