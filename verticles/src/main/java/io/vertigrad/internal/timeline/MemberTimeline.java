package io.vertigrad.internal.timeline;

import io.vertigrad.job.JobConfig;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;

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

  private MemberTimeline(Vertx vertx, JobConfig job) {
    this.vertx = vertx;
    this.job = job;
    buffer = job.timeline() ? new SpanBuffer() : null;
    timer = buffer == null ? -1 : vertx.setPeriodic(PUBLISH_MILLIS, id -> publish());
  }

  /** Creates the timeline of a member of this job that has no name yet. */
  public static MemberTimeline of(Vertx vertx, JobConfig job) {
    return new MemberTimeline(vertx, job);
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
      String node = "%s pid %d".formatted(job.cluster().host(), ProcessHandle.current().pid());
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
}
