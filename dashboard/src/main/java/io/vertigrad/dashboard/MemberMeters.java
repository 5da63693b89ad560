package io.vertigrad.dashboard;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * Registers the meters of one member, which read the member's values from the view. Counters
 * continue over all incarnations of the rank. A value that nobody reports, as for a process that
 * has ended, is NaN.
 */
final class MemberMeters {

  private static final double MILLIS = 1e-3;
  private static final String NO_UNIT = null;

  private final MeterRegistry registry;
  private final JobView view;
  private final String name;
  private final String role;
  private final Tags tags;

  private MemberMeters(MeterRegistry registry, JobView view, String name) {
    this.registry = registry;
    this.view = view;
    this.name = name;
    JsonObject member = view.member(name);
    role = member.getString("role");
    tags = Tags.of("rank", String.valueOf(member.getInteger("rank")));
  }

  /** Registers all meters of this member. */
  static void register(MeterRegistry registry, JobView view, String name) {
    MemberMeters meters = new MemberMeters(registry, view, name);
    meters.process();
    if (meters.role.equals("worker")) {
      meters.worker();
    } else if (meters.role.equals("server")) {
      meters.server();
    }
  }

  private void process() {
    Tags who = tags.and("role", role);
    gauge("vertigrad.member.up", NO_UNIT, who, member -> JobView.present(member) ? 1 : 0);
    gauge("vertigrad.member.cpu.cores", NO_UNIT, who, known("cores", 1));
    gauge("vertigrad.member.heap.used", "bytes", who, known("heapBytes", 1));
    gauge("vertigrad.member.heap.max", "bytes", who, known("heapLimitBytes", 1));
    gauge("vertigrad.member.off.heap.used", "bytes", who, known("offHeapBytes", 1));
    gauge("vertigrad.member.resident", "bytes", who, known("residentBytes", 1));
    for (String quantile : new String[] {"50", "99"}) {
      gauge(
          "vertigrad.member.round.trip",
          "seconds",
          who.and("quantile", "0." + quantile.replace("50", "5")),
          known("roundTripMillis" + quantile, MILLIS));
    }
  }

  private void worker() {
    gauge("vertigrad.worker.version", NO_UNIT, tags, known("version", 1));
    gauge("vertigrad.worker.loss", NO_UNIT, tags, known("loss", 1));
    counter("vertigrad.worker.steps", NO_UNIT, tags, number("step", 1));
    counter("vertigrad.worker.samples", NO_UNIT, tags, number("samples", 1));
    counter("vertigrad.worker.computing", "seconds", tags, number("secondsComputing", 1));
    counter("vertigrad.worker.exchanging", "seconds", tags, number("secondsExchanging", 1));
    counter("vertigrad.worker.waiting", "seconds", tags, number("secondsWaitingForData", 1));
    counter("vertigrad.worker.sent", "bytes", tags, number("bytesSent", 1));
    counter("vertigrad.worker.saved", "bytes", tags, number("bytesSaved", 1));
    counter("vertigrad.worker.received", "bytes", tags, number("bytesReceived", 1));
    counter("vertigrad.worker.gradients.applied", NO_UNIT, tags, staleness(age -> 1));
    counter("vertigrad.worker.staleness", NO_UNIT, tags, staleness(Double::parseDouble));
  }

  private void server() {
    gauge("vertigrad.server.version", NO_UNIT, tags, known("version", 1));
    Map.of(
            "applied", "applied",
            "late", "late",
            "duplicate", "duplicate",
            "tooStale", "too_stale",
            "refused", "refused")
        .forEach(
            (key, outcome) ->
                counter(
                    "vertigrad.server.updates",
                    NO_UNIT,
                    tags.and("outcome", outcome),
                    number(key, 1)));
  }

  private void gauge(String meter, String unit, Tags with, ToDoubleFunction<JsonObject> value) {
    Gauge.builder(meter, view, all -> value.applyAsDouble(all.member(name)))
        .baseUnit(unit)
        .tags(with)
        .register(registry);
  }

  private void counter(String meter, String unit, Tags with, ToDoubleFunction<JsonObject> value) {
    FunctionCounter.builder(meter, view, all -> value.applyAsDouble(all.member(name)))
        .baseUnit(unit)
        .tags(with)
        .register(registry);
  }

  /** Reads a counter. */
  private static ToDoubleFunction<JsonObject> number(String key, double factor) {
    return number(key, factor, 0);
  }

  /** Reads a gauge. */
  private static ToDoubleFunction<JsonObject> known(String key, double factor) {
    return number(key, factor, Double.NaN);
  }

  private static ToDoubleFunction<JsonObject> number(String key, double factor, double otherwise) {
    return member ->
        member.getValue(key) instanceof Number number ? factor * number.doubleValue() : otherwise;
  }

  /** Sums a function of the staleness over all applied gradients. */
  private static ToDoubleFunction<JsonObject> staleness(ToDoubleFunction<String> each) {
    return member ->
        member.getJsonObject("staleness", new JsonObject()).stream()
            .mapToDouble(
                entry ->
                    each.applyAsDouble(entry.getKey()) * ((Number) entry.getValue()).doubleValue())
            .sum();
  }
}
