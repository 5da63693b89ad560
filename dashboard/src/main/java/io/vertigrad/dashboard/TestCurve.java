package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;

/**
 * Keeps the results of evaluations, oldest first; when it is full, it drops every second one. They
 * form segments, as the points of a {@link Curve} do.
 */
final class TestCurve {

  static final int CAPACITY = 1_000;

  private final List<JsonObject> kept = new ArrayList<>();
  private final List<JsonObject> fresh = new ArrayList<>();
  private int segment;
  private boolean begun;

  /**
   * Processes the next event: keeps an evaluation, and begins a new segment after a pause and when
   * the evaluator has joined again.
   */
  void apply(TrainingEvent event) {
    if (event instanceof Evaluated tested) {
      add(tested);
    } else if (event instanceof JobResumed
        || event instanceof MemberJoined joined
            && joined.role() == Role.EVALUATOR
            && joined.incarnation() > 0) {
      segment += begun ? 1 : 0;
      begun = false;
    }
  }

  private void add(Evaluated tested) {
    if (kept.size() == CAPACITY) {
      for (int i = CAPACITY - 2; i >= 0; i -= 2) {
        kept.remove(i);
      }
    }
    JsonObject json = tested.toJson();
    json.remove("type");
    json.put("segment", segment);
    begun = true;
    kept.add(json);
    fresh.add(json);
  }

  /** Returns the evaluations since the last call. */
  JsonArray takeFresh() {
    JsonArray taken = new JsonArray(new ArrayList<>(fresh));
    fresh.clear();
    return taken;
  }

  public JsonArray toJson() {
    return new JsonArray(new ArrayList<>(kept));
  }
}
