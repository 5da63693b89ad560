package io.vertigrad.internal.timeline;

import io.vertigrad.job.JobConfig;
import io.vertx.core.Vertx;
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
 * One member's part of a run's timeline. Its spans are published four times a second from an event
 * loop, as a message to the member that writes the timeline. Records nothing unless the job asks
 * for a timeline.
 */
public final class MemberTimeline {

  private static final long PUBLISH_MILLIS = 250;

  private final Vertx vertx;
  private final JobConfig job;
  private final SpanBuffer buffer;
  private final long timer;
  private volatile String member;

  /** Creates the timeline of a member of this job that has no name yet. */
  public MemberTimeline(Vertx vertx, JobConfig job) {
    this.vertx = vertx;
    this.job = job;
    buffer = job.timeline() ? new SpanBuffer() : null;
    timer = buffer == null ? -1 : vertx.setPeriodic(PUBLISH_MILLIS, id -> publish());
  }

  /** Returns the recorder for the member's thread. */
  public SpanRecorder track() {
    return buffer == null ? SpanRecorder.OFF : buffer;
  }

  /**
   * Sets the name under which the member is shown, for example {@code worker 0}. Nothing is
   * published before.
   */
  public void setMember(String someMember) {
    member = someMember;
  }

  /** Publishes the recorded spans; any thread. */
  public void publish() {
    JsonObject spans = buffer == null || member == null ? null : buffer.take();
    if (spans != null) {
      String node = job.cluster().nodeName(ProcessHandle.current().pid());
      vertx
          .eventBus()
          .publish(job.addresses().timeline(), spans.put("member", member).put("node", node));
    }
  }

  /** Publishes the remaining spans and stops. */
  public void close() {
    if (buffer != null) {
      vertx.cancelTimer(timer);
      publish();
    }
  }

  /**
   * Holds spans of a microsecond or more until they are published, at most {@value #CAPACITY}.
   * Spans that arrive when it is full are counted and dropped. Any thread; adding a span copies
   * four numbers.
   */
  static final class SpanBuffer implements SpanRecorder {

    static final int CAPACITY = 8_192;
    private static final long NANOS_PER_MICRO = 1_000;

    private static final long WALL_MICROS =
        ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now())
            - System.nanoTime() / NANOS_PER_MICRO;

    private final long wallMicros;
    private final String[] names = new String[CAPACITY];
    private final long[] begun = new long[CAPACITY];
    private final long[] ended = new long[CAPACITY];
    private final long[] steps = new long[CAPACITY];
    private int size;
    private long dropped;

    /** Creates a buffer. Reads the wall clock of the process once. */
    SpanBuffer() {
      this(WALL_MICROS);
    }

    /**
     * Creates a buffer; {@code wallMicros} is the difference between the time since 1970 and {@link
     * System#nanoTime()}.
     */
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
     * Removes all spans: {@code names}, {@code spans} as one row of four numbers each (index of the
     * name, start in microseconds since 1970, duration in microseconds, step), {@code dropped}.
     * Returns null if there is none.
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
}
