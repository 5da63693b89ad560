package io.vertigrad.verticles.metrics;

import io.vertigrad.verticles.job.JobConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;

/**
 * Tells dashboards about a run that is over, whose job file is its configuration: the same messages
 * as live, all on request at {@code metrics-requests.<job>}.
 */
public final class ReplayVerticle extends VerticleBase {

  private static final int FRAMES_PER_ANSWER = 100;

  private final Path events;
  private JsonObject beginning;
  private List<JsonObject> frames;

  /** {@code events} is the run's {@code events.jsonl}. */
  public ReplayVerticle(Path events) {
    this.events = events;
  }

  @Override
  public Future<?> start() {
    JobConfig job = JobConfig.read("-conf", config());
    return vertx
        .executeBlocking(() -> Recording.read(events, RunDescription.of(job, false)))
        .compose(
            recording -> {
              frames = recording.frames();
              beginning = recording.beginning().put("replayFrames", frames.size());
              RequestDesk desk = new RequestDesk(() -> beginning);
              desk.replay(this::frames);
              return desk.open(vertx, job.addresses());
            });
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
