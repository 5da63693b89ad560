package io.vertigrad.verticles.coordinator;

import io.vertigrad.verticles.coordinator.Decision.Complete;
import io.vertigrad.verticles.coordinator.Decision.Conclude;
import io.vertigrad.verticles.coordinator.Decision.Stop;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.function.Consumer;

/** How a job ends: evaluated, failed or stopped; its result is decided once. */
final class Ending {

  private final Consumer<Decision> decisions;
  private final RosterNews news;
  private String reason = "";
  private boolean complete;

  Ending(Consumer<Decision> decisions, RosterNews news) {
    this.decisions = decisions;
    this.news = news;
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
    news.finished(progress);
    JsonObject result = result(RosterState.FINISHED, progress);
    evaluation.ifPresent(found -> result.put("evaluation", found));
    complete(result);
  }

  void failed(Progress progress, String why) {
    reason = why;
    news.failed(why);
    complete(result(RosterState.FAILED, progress).put("failure", why));
    decisions.accept(new Stop(why));
  }

  void stopped(Progress progress, String why) {
    reason = reason.isEmpty() ? why : reason;
    if (!complete) {
      news.stopped(why);
    }
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
