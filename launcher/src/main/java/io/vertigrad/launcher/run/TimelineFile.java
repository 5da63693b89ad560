package io.vertigrad.launcher.run;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;

/**
 * Writes {@code timeline.json}: spans of all members in Chrome's trace-event format, a JSON array
 * whose closing bracket may be missing after a crash. It keeps the first {@value #LIMIT} spans. Any
 * thread that may block can use it.
 */
public final class TimelineFile implements AutoCloseable {

  static final int LIMIT = 400_000;
  private static final int ROW = 4;

  private final Path file;
  private final int limit;
  private final Consumer<String> onProblem;
  private final BufferedWriter writer;
  private final Map<String, Integer> members = new HashMap<>();
  private long written;
  private long leftOut;
  private boolean first = true;
  private boolean closed;

  /**
   * Opens the file.
   *
   * @param onProblem called when spans are missing, at the latest when the file is closed
   */
  public TimelineFile(Path file, Consumer<String> onProblem) {
    this(file, LIMIT, onProblem);
  }

  /** Opens a file that keeps {@code limit} spans. */
  TimelineFile(Path file, int limit, Consumer<String> onProblem) {
    this.file = file;
    this.limit = limit;
    this.onProblem = onProblem;
    try {
      writer = Files.newBufferedWriter(file);
      writer.write("[");
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": could not be opened: " + e.getMessage(), e);
    }
  }

  /**
   * Adds the spans that a member has sent.
   *
   * @param traces returns the id of the trace that a member's step is exported in, if any
   */
  public synchronized void add(
      JsonObject shipment, BiFunction<String, Long, Optional<String>> traces) {
    if (closed) {
      return;
    }
    try {
      int process = process(shipment);
      leftOut += shipment.getLong("dropped", 0L);
      JsonArray names = shipment.getJsonArray("names");
      JsonArray spans = shipment.getJsonArray("spans");
      String member = shipment.getString("member");
      for (int i = 0; i + ROW <= spans.size(); i += ROW) {
        span(process, names, spans, i, traces.apply(member, spans.getLong(i + 3)));
      }
    } catch (IOException e) {
      giveUp(e);
    }
  }

  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    try (writer) {
      writer.write("\n]\n");
    } catch (IOException e) {
      giveUp(e);
    }
    if (leftOut > 0) {
      onProblem.accept(
          String.format(
              Locale.ROOT,
              "%s: %,d spans are missing: a timeline keeps the first %,d, and what members can ship",
              file,
              leftOut,
              limit));
    }
  }

  private void span(int process, JsonArray names, JsonArray spans, int at, Optional<String> trace)
      throws IOException {
    if (written >= limit) {
      leftOut++;
      return;
    }
    JsonObject event =
        event(names.getString(spans.getInteger(at)), "X", process)
            .put("ts", spans.getLong(at + 1))
            .put("dur", spans.getLong(at + 2));
    if (spans.getLong(at + 3) >= 0) {
      JsonObject about = new JsonObject().put("step", spans.getLong(at + 3));
      trace.ifPresent(id -> about.put("trace", id));
      event.put("args", about);
    }
    write(event);
    written++;
  }

  /** Returns the process number of a member; the member's first message names it. */
  private int process(JsonObject shipment) throws IOException {
    String member = shipment.getString("member");
    Integer known = members.get(member + shipment.getString("node"));
    if (known != null) {
      return known;
    }
    int process = members.size() + 1;
    members.put(member + shipment.getString("node"), process);
    write(named("process_name", process, member));
    write(named("thread_name", process, member + " at " + shipment.getString("node")));
    return process;
  }

  private static JsonObject named(String what, int process, String name) {
    return event(what, "M", process).put("args", new JsonObject().put("name", name));
  }

  private static JsonObject event(String name, String phase, int process) {
    return new JsonObject().put("name", name).put("ph", phase).put("pid", process).put("tid", 1);
  }

  private void write(JsonObject event) throws IOException {
    writer.write(first ? "\n" : ",\n");
    first = false;
    writer.write(event.encode());
  }

  private void giveUp(IOException why) {
    closed = true;
    onProblem.accept(
        "%s: no more can be written: %s; training goes on".formatted(file, why.getMessage()));
  }
}
