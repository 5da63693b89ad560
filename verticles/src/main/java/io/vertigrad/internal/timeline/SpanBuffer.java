package io.vertigrad.internal.timeline;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Spans of a microsecond or more until they are shipped, at most {@value #CAPACITY}; what comes
 * when it is full is counted and left out. Any thread; adding one copies four numbers.
 */
final class SpanBuffer implements SpanRecorder {

  static final int CAPACITY = 8_192;
  private static final long NANOS_PER_MICRO = 1_000;

  private static final long WALL_MICROS =
      ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()) - System.nanoTime() / NANOS_PER_MICRO;

  private final long wallMicros;
  private final String[] names = new String[CAPACITY];
  private final long[] begun = new long[CAPACITY];
  private final long[] ended = new long[CAPACITY];
  private final long[] steps = new long[CAPACITY];
  private int size;
  private long dropped;

  /** Of this process, whose wall clock is looked at once. */
  SpanBuffer() {
    this(WALL_MICROS);
  }

  /** {@code wallMicros} is what {@link System#nanoTime()} lacks to the time since 1970. */
  SpanBuffer(long wallMicros) {
    this.wallMicros = wallMicros;
  }

  @Override
  public long now() {
    return System.nanoTime();
  }

  @Override
  public synchronized void span(String name, long begunNanos, long endedNanos, long step) {
    if (endedNanos - begunNanos < NANOS_PER_MICRO) {
      return;
    }
    if (size == CAPACITY) {
      dropped++;
      return;
    }
    names[size] = name;
    begun[size] = begunNanos;
    ended[size] = endedNanos;
    steps[size++] = step;
  }

  /**
   * Takes everything out: {@code names}, {@code spans} as one row of four numbers each (index of
   * the name, microseconds since 1970, microseconds, step), {@code dropped}; null for nothing.
   */
  JsonObject take() {
    String[] takenNames;
    long[][] taken;
    long lost;
    synchronized (this) {
      if (size == 0 && dropped == 0) {
        return null;
      }
      takenNames = Arrays.copyOf(names, size);
      taken = new long[][] {copy(begun), copy(ended), copy(steps)};
      lost = dropped;
      size = 0;
      dropped = 0;
    }
    return json(takenNames, taken).put("dropped", lost);
  }

  private long[] copy(long[] column) {
    return Arrays.copyOf(column, size);
  }

  private JsonObject json(String[] takenNames, long[][] taken) {
    Map<String, Integer> indexes = new LinkedHashMap<>();
    List<Object> spans = new ArrayList<>(4 * takenNames.length);
    for (int i = 0; i < takenNames.length; i++) {
      long from = wallMicros + Math.floorDiv(taken[0][i], NANOS_PER_MICRO);
      long to = wallMicros + Math.floorDiv(taken[1][i], NANOS_PER_MICRO);
      spans.add(indexes.computeIfAbsent(takenNames[i], name -> indexes.size()));
      spans.add(from);
      spans.add(to - from);
      spans.add(taken[2][i]);
    }
    return new JsonObject()
        .put("names", new JsonArray(new ArrayList<>(indexes.keySet())))
        .put("spans", new JsonArray(spans));
  }
}
