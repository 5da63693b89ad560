package io.vertigrad.dashboard;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shows dashboards a run that is over, with the same messages as live; it sends all of them on
 * request at {@code metrics-requests.<job>}. Its configuration is the run's job file.
 */
public final class ReplayVerticle extends VerticleBase {

  private static final int FRAMES_PER_ANSWER = 100;

  private static final Logger LOG = LoggerFactory.getLogger(ReplayVerticle.class);

  private final Path events;
  private final AtomicLong eventsRead = new AtomicLong();
  private volatile boolean cancelled;
  private JsonObject beginning;
  private List<JsonObject> frames;

  /**
   * Creates the replay of a run that is over.
   *
   * @param events its {@code events.jsonl}; a {@code summary.json} beside it is shown at the end
   */
  public ReplayVerticle(Path events) {
    this.events = events;
  }

  @Override
  public Future<?> start() {
    JobConfig job = JobConfig.read("-conf", config());
    return vertx
        .executeBlocking(
            () ->
                RunRecording.read(
                    events, RunDescription.of(job, false), summary(), this::countEvent))
        .compose(
            recording -> {
              frames = recording.frames();
              beginning = recording.beginning().put("replayFrames", frames.size());
              MetricsRequestHandler requests = new MetricsRequestHandler(() -> beginning);
              requests.replay(this::frames);
              return requests.open(vertx, job.addresses());
            });
  }

  /** Ends the reading of the events: the verticle fails to start. Any thread may ask. */
  public void cancel() {
    cancelled = true;
  }

  /** Returns whether {@link #cancel} was called. Any thread may ask. */
  public boolean isCancelled() {
    return cancelled;
  }

  private void countEvent() {
    if (cancelled) {
      throw new CancellationException("nobody waits for the replay any more");
    }
    eventsRead.incrementAndGet();
  }

  /** Returns how many events have been read so far, each of them twice. Any thread may ask. */
  public long eventsRead() {
    return eventsRead.get();
  }

  /** Reads the summary; a killed run has none or an incomplete one. */
  private Optional<JsonObject> summary() {
    Path file = events.resolveSibling("summary.json");
    if (!Files.isReadable(file)) {
      return Optional.empty();
    }
    try {
      return Optional.of(new JsonObject(JsonText.read(file)));
    } catch (DecodeException | IOException torn) {
      LOG.warn("{} is shown without its summary: {}", file, torn.getMessage());
      return Optional.empty();
    }
  }

  private JsonObject frames(JsonObject request) {
    int from = request.getValue("from") instanceof Number number ? number.intValue() : 0;
    int first = Math.max(0, Math.min(from, frames.size()));
    int end = Math.min(frames.size(), first + FRAMES_PER_ANSWER);
    return new JsonObject()
        .put("frames", new JsonArray(List.copyOf(frames.subList(first, end))))
        .put("next", end);
  }
}
