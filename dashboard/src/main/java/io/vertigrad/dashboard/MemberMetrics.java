package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.Role;
import io.vertigrad.run.RunView.Condition;
import io.vertigrad.run.RunView.Member;
import io.vertigrad.run.Throughput.WorkerRate;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Holds the condition of one member, a rank of one role, and the values of its last reports, as the
 * page shows them. Counters are totals over all incarnations of the rank.
 */
final class MemberMetrics {

  /** Values that are totals, and stay when a new incarnation begins. */
  private static final List<String> COUNTERS =
      List.of(
          "step",
          "samples",
          "secondsComputing",
          "secondsExchanging",
          "secondsWaitingForData",
          "bytesSent",
          "bytesSaved",
          "bytesReceived",
          "staleness",
          "applied",
          "late",
          "duplicate",
          "tooStale",
          "refused");

  private static final List<String> NAME = List.of("role", "rank");

  private static final List<String> VITALS =
      Stream.of(Vital.values()).map(Vital::toString).toList();

  private static final List<String> SHARES = List.of("computing", "exchanging", "waitingForData");

  private final JsonObject values = new JsonObject();
  private final Curve curve = new Curve("version", "loss", "samplesPerSecond", "samples", "bytes");
  private Condition condition = Condition.UP;
  private JsonObject freshPoint;
  private boolean interrupted;
  private boolean beginsSegment;
  private boolean changed;

  MemberMetrics(Role role, int rank) {
    values.put("role", role.lower()).put("rank", rank).put("condition", text(condition));
  }

  void joined(Member member) {
    begin(member.incarnation());
    put("node", member.node());
    condition(member.condition(), member.reason());
  }

  void suspected(long silentMillis) {
    condition(Condition.SUSPECT, "silent for %s ms".formatted(silentMillis));
    interrupt();
  }

  void left(Member member) {
    condition(member.condition(), member.reason());
    rest();
    VITALS.forEach(this::remove);
    if (condition == Condition.LOST) {
      SHARES.forEach(this::remove);
    }
  }

  /** Marks an interruption: nothing is measured until the member's next report. */
  void interrupt() {
    interrupted = true;
  }

  /** Sets what a worker has that does not share its samples. */
  void owns(SamplesCounted counted) {
    put("ownSamples", counted.samples());
    put("ownLabels", new JsonArray(new ArrayList<>(counted.labels())));
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
   * Applies a report about this member. One of an earlier incarnation only adds to the counters.
   *
   * @param member the member by the run's view
   * @param report the values, with counters as totals over all incarnations
   */
  void onReport(Member member, JsonObject report) {
    if (report.getInteger("incarnation") < member.incarnation()) {
      COUNTERS.stream().filter(report::containsKey).forEach(key -> put(key, report.getValue(key)));
      return;
    }
    begin(member.incarnation());
    for (Map.Entry<String, Object> entry : report) {
      if (member.present() || !VITALS.contains(entry.getKey())) {
        put(entry.getKey(), entry.getValue());
      }
    }
    if (condition != member.condition()) {
      condition(member.condition(), member.reason());
    }
  }

  /**
   * Records a report; if it is the first one after an interruption, its point begins a new segment.
   */
  void reports() {
    beginsSegment |= interrupted;
    interrupted = false;
  }

  /**
   * Applies a worker's rates over the last window.
   *
   * @param samples number of samples that all workers have trained
   * @param bytes number of bytes that all workers have sent
   */
  void moved(WorkerProgress progress, WorkerRate rate, long samples, long bytes) {
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
      draw(progress, rate, samples, bytes);
    }
  }

  /** Shows a worker's updates as {@link io.vertigrad.observability.UpdateOutliers} has them. */
  void compared(JsonObject update) {
    if (!update.equals(values.getValue("update"))) {
      put("update", update);
    }
  }

  boolean present() {
    return condition == Condition.UP || condition == Condition.SUSPECT;
  }

  boolean reports(String key) {
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

  private void draw(WorkerProgress progress, WorkerRate rate, long samples, long bytes) {
    if (!Double.isFinite(rate.loss())) {
      return;
    }
    if (beginsSegment) {
      curve.interrupt();
      beginsSegment = false;
    }
    double[] point = {progress.version(), rate.loss(), rate.samplesPerSecond(), samples, bytes};
    int segment = curve.add(progress.timeMillis(), point);
    freshPoint = curve.point(segment, progress.timeMillis(), point);
  }

  /** Returns bytes per second by the rank of the partner. */
  private static JsonObject byPartner(Map<Integer, Double> rates) {
    JsonObject json = new JsonObject();
    rates.forEach(
        (partner, rate) -> json.put(partner < 0 ? "others" : partner + "", Math.round(rate)));
    return json;
  }

  private void condition(Condition now, String reason) {
    condition = now;
    put("condition", text(now));
    put("reason", reason);
  }

  private static String text(Condition condition) {
    return condition.name().toLowerCase(Locale.ROOT);
  }

  /** Begins a new incarnation; keeps only the counters of earlier ones. */
  private void begin(int incarnation) {
    Integer before = values.getInteger("incarnation");
    if (Integer.valueOf(incarnation).equals(before)) {
      return;
    }
    List.copyOf(values.fieldNames()).stream()
        .filter(key -> !COUNTERS.contains(key) && !NAME.contains(key))
        .forEach(values::remove);
    condition(Condition.UP, "");
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
