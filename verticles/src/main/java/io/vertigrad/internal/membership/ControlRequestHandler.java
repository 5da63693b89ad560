package io.vertigrad.internal.membership;

import io.vertigrad.job.JoinException;
import io.vertx.core.json.JsonObject;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads control requests, hands them to the roster, and writes the answers. */
public final class ControlRequestHandler {

  private static final Logger LOG = LoggerFactory.getLogger(ControlRequestHandler.class);

  /** Epoch of a sender that is not to be sent the membership. */
  private static final int LATEST = Integer.MAX_VALUE;

  private static final String REQUESTS =
      "join, heartbeat, leave, state, checkpoint, pause, resume, stop";

  private final CoordinatorState roster;

  public ControlRequestHandler(CoordinatorState roster) {
    this.roster = roster;
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
      Admission admission = roster.join(JoinRequest.fromJson(request));
      return state(LATEST).put("admitted", admission.toJson());
    } catch (JoinException e) {
      return refused(e.getMessage()).put("retry", e.worthRetrying()).put("late", e.late());
    }
  }

  private JsonObject heartbeat(JsonObject request) {
    Admission from = Admission.fromJson(request);
    if (roster.state().released()) {
      return state(LATEST).put("stop", roster.verdict());
    }
    if (!roster.heartbeat(from, request.getJsonObject("status"))) {
      return state(LATEST).put("unknown", roster.farewell(from));
    }
    if (request.containsKey("vitals")) {
      roster.vitals(from, request.getJsonObject("vitals"));
    }
    return withPause(request, state(request.getInteger("epoch")));
  }

  private JsonObject leave(JsonObject request) {
    Admission from = Admission.fromJson(request);
    roster.leave(from, request.getString("reason"), request.getJsonObject("status"));
    return state(LATEST);
  }

  private JsonObject checkpoint() {
    if (roster.state() != JobPhase.RUNNING && roster.state() != JobPhase.PAUSED) {
      return refused("the job is %s, there is nothing to save".formatted(roster.state().lower()));
    }
    roster.save();
    return state(LATEST);
  }

  private JsonObject pause() {
    return roster.pauses().begin()
        ? state(LATEST)
        : refused("the job is %s, it cannot be paused".formatted(roster.state().lower()));
  }

  private JsonObject resume() {
    return roster.pauses().end()
        ? state(LATEST)
        : refused("the job is %s, not paused".formatted(roster.state().lower()));
  }

  private JsonObject stop() {
    if (roster.state().over()) {
      return refused("the job is over: " + roster.verdict());
    }
    roster.stop("asked for on the dashboard");
    return state(LATEST);
  }

  /** Takes what a member says to a pause, and tells it the newest word if it has an older one. */
  private JsonObject withPause(JsonObject heartbeat, JsonObject answer) {
    JsonObject known = heartbeat.getJsonObject("pause", new JsonObject());
    long number = known.getLong("number", 0L);
    roster.pauses().heard(Admission.fromJson(heartbeat), number, known.getLong("begun", 0L));
    Pause newest = roster.pauses().newest();
    return number == newest.number() ? answer : answer.put("pause", newest.toJson());
  }

  private JsonObject state(int knownEpoch) {
    JsonObject state =
        new JsonObject()
            .put("state", roster.state().lower())
            .put("epoch", roster.membership().epoch());
    if (roster.membership().epoch() > knownEpoch) {
      state.put("membership", roster.membership().toJson());
    }
    return state;
  }

  private static JsonObject refused(String why) {
    return new JsonObject().put("refused", why);
  }
}
