package io.vertigrad.verticles.coordinator;

import io.vertigrad.verticles.coordinator.Decision.Announce;
import io.vertigrad.verticles.coordinator.Decision.Complete;
import io.vertigrad.verticles.coordinator.Decision.Conclude;
import io.vertigrad.verticles.coordinator.Decision.Stop;
import io.vertigrad.verticles.metrics.TrainingEvent.JobFailed;
import io.vertigrad.verticles.metrics.TrainingEvent.JobFinished;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** How a job ends: evaluated, failed or stopped; its result is decided once. */
final class Ending {

  private final Consumer<Decision> decisions;
  private final LongSupplier wallMillis;
  private String reason = "";
  private boolean complete;

  Ending(Consumer<Decision> decisions, LongSupplier wallMillis) {
    this.decisions = decisions;
    this.wallMillis = wallMillis;
  }

  /** Why it ended; empty before. */
  String reason() {
    return reason;
  }

  void conclude(Attendance attendance, Progress progress) {
    decisions.accept(
        new Conclude(
            attendance.of(Role.SERVER).stream().map(Attendee::admission).toList(),
            attendance.of(Role.EVALUATOR).stream().map(Attendee::admission).findFirst(),
            progress.version()));
  }

  void finished(Progress progress, Optional<JsonObject> evaluation) {
    reason = Roster.FINISHED;
    decisions.accept(
        new Announce(
            new JobFinished(wallMillis.getAsLong(), progress.version(), progress.samples())));
    JsonObject result = result(RosterState.FINISHED, progress);
    evaluation.ifPresent(found -> result.put("evaluation", found));
    complete(result);
  }

  void failed(Progress progress, String why) {
    reason = why;
    decisions.accept(new Announce(new JobFailed(wallMillis.getAsLong(), why)));
    complete(result(RosterState.FAILED, progress).put("failure", why));
    decisions.accept(new Stop(why));
  }

  void stopped(Progress progress, String why) {
    reason = reason.isEmpty() ? why : reason;
    complete(result(RosterState.STOPPED, progress).put("failure", "stopped: " + why));
    decisions.accept(new Stop(why));
  }

  private void complete(JsonObject result) {
    if (!complete) {
      complete = true;
      decisions.accept(new Complete(result));
    }
  }

  private static JsonObject result(RosterState state, Progress progress) {
    return new JsonObject()
        .put("state", state.lower())
        .put("version", progress.version())
        .put("samples", progress.samples());
  }
}
