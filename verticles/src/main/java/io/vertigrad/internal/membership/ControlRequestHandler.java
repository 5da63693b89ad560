package io.vertigrad.internal.membership;

import io.vertigrad.job.JoinException;
import io.vertx.core.json.JsonObject;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads control requests, hands them to the coordinator's state, and writes the answers. */
public final class ControlRequestHandler {

  private static final Logger LOG = LoggerFactory.getLogger(ControlRequestHandler.class);

  /** Epoch of a sender that is not to be sent the membership. */
  private static final int LATEST = Integer.MAX_VALUE;

  private static final String REQUESTS =
      "join, heartbeat, leave, state, checkpoint, pause, resume, stop";

  private final CoordinatorState coordinator;

  public ControlRequestHandler(CoordinatorState coordinator) {
    this.coordinator = coordinator;
  }

  /** The answer to one request; a request that makes no sense is refused, never thrown at. */
  public JsonObject answer(JsonObject request) {
    try {
      return switch (String.valueOf(request.getValue("request"))) {
        case "join" -> join(request);
        case "heartbeat" -> heartbeat(request);
        case "leave" -> leave(request);
        case "state" -> state(LATEST);
        case "checkpoint" -> checkpoint();
        case "pause" -> pause();
        case "resume" -> resume();
        case "stop" -> stop();
        default -> refused("expected request to be one of " + REQUESTS);
      };
    } catch (IllegalArgumentException | ClassCastException | NullPointerException e) {
      LOG.warn("malformed control request {}", request, e);
      return refused("malformed request: " + e);
    }
  }

  private JsonObject join(JsonObject request) {
    try {
      Admission admission = coordinator.join(JoinRequest.fromJson(request));
      return state(LATEST).put("admitted", admission.toJson());
    } catch (JoinException e) {
      return refused(e.getMessage()).put("retry", e.worthRetrying()).put("late", e.late());
    }
  }

  private JsonObject heartbeat(JsonObject request) {
    Admission from = Admission.fromJson(request);
    if (coordinator.state().released()) {
      return state(LATEST).put("stop", coordinator.verdict());
    }
    if (!coordinator.heartbeat(from, request.getJsonObject("status"))) {
      return state(LATEST).put("unknown", coordinator.farewell(from));
    }
    if (request.containsKey("vitals")) {
      coordinator.health(from, request.getJsonObject("vitals"));
    }
    return withPause(request, state(request.getInteger("epoch")));
  }

  private JsonObject leave(JsonObject request) {
    Admission from = Admission.fromJson(request);
    coordinator.leave(
        from, LeaveReason.read(request.getString("reason")), request.getJsonObject("status"));
    return state(LATEST);
  }

  private JsonObject checkpoint() {
    if (coordinator.state() != JobPhase.RUNNING && coordinator.state() != JobPhase.PAUSED) {
      return refused(
          "the job is %s, there is nothing to save".formatted(coordinator.state().lower()));
    }
    coordinator.save();
    return state(LATEST);
  }

  private JsonObject pause() {
    return coordinator.pauses().begin()
        ? state(LATEST)
        : refused("the job is %s, it cannot be paused".formatted(coordinator.state().lower()));
  }

  private JsonObject resume() {
    return coordinator.pauses().end()
        ? state(LATEST)
        : refused("the job is %s, not paused".formatted(coordinator.state().lower()));
  }

  private JsonObject stop() {
    if (coordinator.state().over()) {
      return refused("the job is over: " + coordinator.verdict());
    }
    coordinator.stop("asked for on the dashboard");
    return state(LATEST);
  }

  /** Takes what a member says to a pause, and tells it the newest word if it has an older one. */
  private JsonObject withPause(JsonObject heartbeat, JsonObject answer) {
    JsonObject known = heartbeat.getJsonObject("pause", new JsonObject());
    long number = known.getLong("number", 0L);
    coordinator.pauses().heard(Admission.fromJson(heartbeat), number, known.getLong("begun", 0L));
    Pause newest = coordinator.pauses().newest();
    return number == newest.number() ? answer : answer.put("pause", newest.toJson());
  }

  private JsonObject state(int knownEpoch) {
    JsonObject state =
        new JsonObject()
            .put("state", coordinator.state().lower())
            .put("epoch", coordinator.membership().epoch());
    if (coordinator.membership().epoch() > knownEpoch) {
      state.put("membership", coordinator.membership().toJson());
    }
    return state;
  }

  private static JsonObject refused(String why) {
    return new JsonObject().put("refused", why);
  }
}
