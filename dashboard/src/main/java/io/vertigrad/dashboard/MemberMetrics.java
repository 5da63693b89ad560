package io.vertigrad.dashboard;

import io.vertigrad.events.Throughput.WorkerRate;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Holds the condition of one member, a rank of one role, and the values of its last reports.
 *
 * <p>A member's own counters begin at 0 with each incarnation. This class adds up the counters of
 * all incarnations of the rank, so that they never decrease.
 */
final class MemberMetrics {

  /** Number of newest incarnations that may still report; older ones no longer do. */
  private static final int INCARNATIONS = 4;

  private static final Set<String> PRESENT = Set.of("up", "suspect");

  private static final List<String> VITALS =
      List.of(
          "cores",
          "processors",
          "heapBytes",
          "heapLimitBytes",
          "offHeapBytes",
          "residentBytes",
          "roundTripMillis50",
          "roundTripMillis99");

  private static final List<String> SHARES = List.of("computing", "exchanging", "waitingForData");

  private final JsonObject values = new JsonObject();
  private final Curve curve = new Curve();
  private final TreeMap<Integer, JsonObject> counted = new TreeMap<>();
  private JsonObject settled = new JsonObject();
  private int settledIncarnation = -1;
  private JsonObject freshPoint;
  private boolean interrupted;
  private boolean beginsSegment;
  private boolean changed;

  MemberMetrics(String role, int rank) {
    values.put("role", role).put("rank", rank).put("condition", "up");
  }

  void joined(MemberJoined event) {
    begin(event.incarnation());
    put("node", event.node());
    condition("up", "");
  }

  void suspected(long silentMillis) {
    condition("suspect", "silent for %d ms".formatted(silentMillis));
    interrupt();
  }

  void left(MemberLeft event) {
    boolean inGoodOrder = event.inGoodOrder();
    condition(inGoodOrder ? "left" : "lost", event.reason());
    rest();
    VITALS.forEach(this::remove);
    if (!inGoodOrder) {
      SHARES.forEach(this::remove);
    }
  }

  /** Marks an interruption: nothing is measured until the member's next report. */
  void interrupt() {
    interrupted = true;
  }

  boolean moving() {
    return number("samplesPerSecond") > 0;
  }

  /** Sets the member's rates to 0. */
  void rest() {
    put("samplesPerSecond", 0.0);
    put("sentPerSecond", 0.0);
    put("receivedPerSecond", 0.0);
    put("sentToPerSecond", byPartner(Map.of()));
    put("receivedFromPerSecond", byPartner(Map.of()));
  }

  /**
   * Applies the values that an event reports about this member. The event also shows that the
   * member is alive.
   *
   * @param counters keys of the event that begin at 0 with each incarnation and never decrease in
   *     it
   */
  void heard(int incarnation, JsonObject event, List<String> counters) {
    count(incarnation, event, counters);
    if (incarnation < values.getInteger("incarnation", 0)) {
      return;
    }
    begin(incarnation);
    boolean gone = !present();
    for (Map.Entry<String, Object> entry : event) {
      if (!gone || !VITALS.contains(entry.getKey())) {
        put(entry.getKey(), entry.getValue());
      }
    }
    if (values.getString("condition").equals("suspect")) {
      condition("up", "");
    }
  }

  /**
   * Records a report; if it is the first one after an interruption, its point begins a new segment.
   */
  void reports() {
    beginsSegment |= interrupted;
    interrupted = false;
  }

  void moved(WorkerProgress progress, WorkerRate rate) {
    if (present()) {
      put("samplesPerSecond", rate.samplesPerSecond());
      put("computing", rate.computing());
      put("exchanging", rate.exchanging());
      put("waitingForData", rate.waitingForData());
      put("sentPerSecond", rate.sentPerSecond());
      put("receivedPerSecond", rate.receivedPerSecond());
      put("sentToPerSecond", byPartner(rate.sentTo()));
      put("receivedFromPerSecond", byPartner(rate.receivedFrom()));
    }
    if (rate.samplesPerSecond() > 0) {
      draw(progress, rate);
    }
  }

  boolean present() {
    return PRESENT.contains(values.getString("condition"));
  }

  boolean tells(String key) {
    return values.containsKey(key);
  }

  /**
   * Returns the same as {@link #number}, but NaN where an event reported NaN, which is text in
   * JSON.
   */
  double value(String key) {
    return "NaN".equals(values.getValue(key)) ? Double.NaN : number(key);
  }

  double number(String key) {
    return values.getValue(key) instanceof Number number ? number.doubleValue() : 0;
  }

  /** Returns all values if any changed since the last call, else null. */
  JsonObject takeChanged() {
    JsonObject taken = changed ? values.copy() : null;
    changed = false;
    return taken;
  }

  /**
   * Returns the point that was added to the history since the last call; null when there was none.
   */
  JsonObject takeFreshPoint() {
    JsonObject taken = freshPoint;
    freshPoint = null;
    return taken;
  }

  JsonObject toJson() {
    return values.copy();
  }

  JsonObject history() {
    return curve.toJson();
  }

  private void draw(WorkerProgress progress, WorkerRate rate) {
    if (!Double.isFinite(rate.loss())) {
      return;
    }
    if (beginsSegment) {
      curve.interrupt();
      beginsSegment = false;
    }
    int segment =
        curve.add(progress.timeMillis(), progress.version(), rate.loss(), rate.samplesPerSecond());
    freshPoint =
        new JsonObject()
            .put("timeMillis", progress.timeMillis())
            .put("version", progress.version())
            .put("loss", Curve.rounded(rate.loss()))
            .put("samplesPerSecond", Curve.rounded(rate.samplesPerSecond()))
            .put("segment", segment);
  }

  /** Returns bytes per second by the rank of the partner. */
  private static JsonObject byPartner(Map<Integer, Double> rates) {
    JsonObject json = new JsonObject();
    rates.forEach(
        (partner, rate) -> json.put(partner < 0 ? "others" : partner + "", Math.round(rate)));
    return json;
  }

  /** Replaces the event's counters by their sums over all incarnations. */
  private void count(int incarnation, JsonObject event, List<String> counters) {
    if (counters.isEmpty() || incarnation <= settledIncarnation) {
      return;
    }
    JsonObject mine = counted.computeIfAbsent(incarnation, fresh -> new JsonObject());
    counters.forEach(key -> mine.put(key, event.getValue(key)));
    while (counted.size() > INCARNATIONS) {
      Map.Entry<Integer, JsonObject> oldest = counted.pollFirstEntry();
      settled = sum(settled, oldest.getValue());
      settledIncarnation = oldest.getKey();
    }
    boolean current = incarnation >= values.getInteger("incarnation", 0);
    if (current && counted.size() == 1 && settled.isEmpty()) {
      return;
    }
    JsonObject all = settled;
    for (JsonObject each : counted.values()) {
      all = sum(all, each);
    }
    event.mergeIn(all);
    all.forEach(entry -> put(entry.getKey(), entry.getValue()));
  }

  /**
   * Adds two objects key by key; nested objects, which count by staleness, are added in the same
   * way.
   */
  private static JsonObject sum(JsonObject one, JsonObject other) {
    JsonObject sums = one.copy();
    other.forEach(entry -> sums.put(entry.getKey(), sum(one, entry)));
    return sums;
  }

  private static Object sum(JsonObject one, Map.Entry<String, Object> added) {
    Object before = one.getValue(added.getKey());
    if (before == null) {
      return added.getValue();
    }
    if (added.getValue() instanceof JsonObject counts) {
      return sum((JsonObject) before, counts);
    }
    Number more = (Number) added.getValue();
    return more instanceof Double || before instanceof Double
        ? (Object) (((Number) before).doubleValue() + more.doubleValue())
        : (Object) (((Number) before).longValue() + more.longValue());
  }

  private void condition(String name, String reason) {
    put("condition", name);
    put("reason", reason);
  }

  /** Begins a new incarnation; keeps only the counters of earlier ones. */
  private void begin(int incarnation) {
    Integer before = values.getInteger("incarnation");
    if (Integer.valueOf(incarnation).equals(before)) {
      return;
    }
    JsonObject kept = new JsonObject();
    counted.values().stream()
        .flatMap(counters -> counters.fieldNames().stream())
        .distinct()
        .forEach(key -> kept.put(key, values.getValue(key)));
    String role = values.getString("role");
    int rank = values.getInteger("rank");
    values.clear().put("role", role).put("rank", rank).put("condition", "up").put("reason", "");
    values.mergeIn(kept);
    put("incarnation", incarnation);
    if (before != null) {
      interrupt();
    }
  }

  private void put(String key, Object value) {
    values.put(key, value);
    changed = true;
  }

  private void remove(String key) {
    values.remove(key);
    changed = true;
  }
}
