package io.vertigrad.internal.timeline;

import io.vertigrad.job.JobConfig;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;

/**
 * One member's part of a run's timeline: what its track notes goes out four times a second, from an
 * event loop, as a message to whoever writes the timeline. Nothing at all unless the job asks for
 * it.
 */
public final class MemberTimeline {

  private static final long SHIP_MILLIS = 250;

  private final Vertx vertx;
  private final JobConfig job;
  private final SpanBuffer buffer;
  private final long timer;
  private volatile String member;

  private MemberTimeline(Vertx vertx, JobConfig job) {
    this.vertx = vertx;
    this.job = job;
    buffer = job.timeline() ? new SpanBuffer() : null;
    timer = buffer == null ? -1 : vertx.setPeriodic(SHIP_MILLIS, id -> ship());
  }

  /** Of a member of this job that has no name yet. */
  public static MemberTimeline of(Vertx vertx, JobConfig job) {
    return new MemberTimeline(vertx, job);
  }

  /** Where the member's thread notes what it does. */
  public SpanRecorder track() {
    return buffer == null ? SpanRecorder.OFF : buffer;
  }

  /** As whose it is shown, for example {@code worker 0}; before that nothing goes out. */
  public void belongsTo(String someMember) {
    member = someMember;
  }

  /** Sends what has been noted; any thread. */
  public void ship() {
    JsonObject spans = buffer == null || member == null ? null : buffer.take();
    if (spans != null) {
      String node = "%s pid %d".formatted(job.cluster().host(), ProcessHandle.current().pid());
      vertx
          .eventBus()
          .publish(job.addresses().timeline(), spans.put("member", member).put("node", node));
    }
  }

  /** Sends what is left. */
  public void close() {
    if (buffer != null) {
      vertx.cancelTimer(timer);
      ship();
    }
  }
}
