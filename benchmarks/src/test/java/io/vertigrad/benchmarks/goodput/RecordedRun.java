package io.vertigrad.benchmarks.goodput;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;

/** Events and timeline of a run, as its files have them. Times are seconds after the start. */
final class RecordedRun {

  /** When the job started, in seconds since 1970. */
  static final double START = 1_795_760_000;

  private final List<JsonObject> events = new ArrayList<>();
  private final JsonArray timeline = new JsonArray();
  private final int workers;

  RecordedRun(int workers) {
    this.workers = workers;
    for (int rank = 0; rank < workers; rank++) {
      joined(-1, rank, "10.203.1.2 pid " + (100 + rank));
      JsonObject name = new JsonObject().put("name", "worker " + rank);
      timeline.add(
          new JsonObject()
              .put("name", "process_name")
              .put("ph", "M")
              .put("pid", rank + 1)
              .put("args", name));
    }
    event("jobStarted", 0);
  }

  /** Records a round of workers: their gradients, and half a second's wait after them. */
  RecordedRun round(double begin, double gradientSeconds, int... ranks) {
    for (int rank : ranks) {
      timeline.add(
          new JsonObject()
              .put("name", "compute")
              .put("ph", "X")
              .put("pid", rank + 1)
              .put("ts", Math.round(1e6 * (START + begin)))
              .put("dur", Math.round(1e6 * gradientSeconds)));
    }
    return this;
  }

  /** Records rounds of all workers, one second each with a gradient of half a second. */
  RecordedRun rounds(double begin, int count, long samplesBefore, int batch) {
    int[] all = new int[workers];
    for (int rank = 0; rank < workers; rank++) {
      all[rank] = rank;
    }
    for (int i = 0; i < count; i++) {
      round(begin + i, 0.5, all);
      counted(begin + i + 1, samplesBefore + (long) (i + 1) * workers * batch);
    }
    return this;
  }

  RecordedRun counted(double seconds, long samples) {
    event("serverProgress", seconds).put("shard", 0).put("samples", samples);
    return this;
  }

  RecordedRun reached(double seconds, long version) {
    event("workerProgress", seconds).put("rank", 0).put("version", version);
    return this;
  }

  RecordedRun joined(double seconds, int rank, String node) {
    event("memberJoined", seconds).put("role", "worker").put("rank", rank).put("node", node);
    return this;
  }

  RecordedRun left(double seconds, int rank, String reason) {
    event("memberLeft", seconds).put("role", "worker").put("rank", rank).put("reason", reason);
    return this;
  }

  RunRecord read(int samplesPerVersion) {
    return RunRecord.of(
        events, timeline.stream().map(JsonObject.class::cast).toList(), samplesPerVersion);
  }

  private JsonObject event(String type, double seconds) {
    JsonObject event =
        new JsonObject().put("type", type).put("timeMillis", Math.round(1e3 * (START + seconds)));
    events.add(event);
    return event;
  }
}
