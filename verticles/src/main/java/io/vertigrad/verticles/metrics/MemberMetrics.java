package io.vertigrad.verticles.metrics;

import io.vertigrad.verticles.metrics.Throughput.WorkerRate;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberJoined;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberLeft;
import io.vertigrad.verticles.metrics.TrainingEvent.WorkerProgress;
import io.vertx.core.json.JsonObject;
import java.util.Map;

/** One rank of one role: whether its member is well, and what it said last. */
final class MemberMetrics {

  private final JsonObject values = new JsonObject();
  private final Curve curve = new Curve();
  private boolean changed;

  MemberMetrics(String role, int rank) {
    values.put("role", role).put("rank", rank).put("condition", "up");
  }

  void joined(MemberJoined event) {
    reset(event.incarnation());
    put("node", event.node());
    condition("up", "");
  }

  void suspected(long silentMillis) {
    condition("suspect", "silent for %d ms".formatted(silentMillis));
  }

  void left(MemberLeft event) {
    boolean inGoodOrder = event.reason().matches("finished|stopped|joins again");
    condition(inGoodOrder ? "left" : "lost", event.reason());
    rest();
  }

  boolean moving() {
    return number("samplesPerSecond") > 0;
  }

  /** It does nothing now. */
  void rest() {
    put("samplesPerSecond", 0.0);
    put("sentPerSecond", 0.0);
    put("receivedPerSecond", 0.0);
    put("sentToPerSecond", byPartner(Map.of()));
    put("receivedFromPerSecond", byPartner(Map.of()));
  }

  /** Takes in whatever an event tells of this member; a sign of life. */
  void heard(int incarnation, JsonObject event) {
    if (incarnation < values.getInteger("incarnation", 0)) {
      return;
    }
    reset(incarnation);
    event.forEach(entry -> put(entry.getKey(), entry.getValue()));
    if (values.getString("condition").equals("suspect")) {
      condition("up", "");
    }
  }

  void moved(WorkerProgress progress, WorkerRate rate) {
    put("samplesPerSecond", rate.samplesPerSecond());
    put("computing", rate.computing());
    put("exchanging", rate.exchanging());
    put("waitingForData", rate.waitingForData());
    put("sentPerSecond", rate.sentPerSecond());
    put("receivedPerSecond", rate.receivedPerSecond());
    put("sentToPerSecond", byPartner(rate.sentTo()));
    put("receivedFromPerSecond", byPartner(rate.receivedFrom()));
    if (rate.samplesPerSecond() > 0) {
      curve.add(progress.timeMillis(), progress.version(), rate.loss(), rate.samplesPerSecond());
    }
  }

  boolean present() {
    return values.getString("condition").matches("up|suspect");
  }

  /** As {@link #number}, but NaN where an event said NaN, which is text in JSON. */
  double value(String key) {
    return "NaN".equals(values.getValue(key)) ? Double.NaN : number(key);
  }

  double number(String key) {
    return values.getValue(key) instanceof Number number ? number.doubleValue() : 0;
  }

  /** What it is now, if that changed since the call before; else null. */
  JsonObject takeChanged() {
    JsonObject taken = changed ? values.copy() : null;
    changed = false;
    return taken;
  }

  JsonObject toJson() {
    return values.copy();
  }

  JsonObject history() {
    return curve.toJson();
  }

  /** Bytes per second, under the rank of whom they went to or came from. */
  private static JsonObject byPartner(Map<Integer, Double> rates) {
    JsonObject json = new JsonObject();
    rates.forEach(
        (partner, rate) -> json.put(partner < 0 ? "others" : partner + "", Math.round(rate)));
    return json;
  }

  private void condition(String name, String reason) {
    put("condition", name);
    put("reason", reason);
  }

  /** What an earlier incarnation had counted does not go on. */
  private void reset(int incarnation) {
    if (!Integer.valueOf(incarnation).equals(values.getInteger("incarnation"))) {
      String role = values.getString("role");
      int rank = values.getInteger("rank");
      values.clear().put("role", role).put("rank", rank).put("condition", "up").put("reason", "");
      put("incarnation", incarnation);
    }
  }

  private void put(String key, Object value) {
    values.put(key, value);
    changed = true;
  }
}
