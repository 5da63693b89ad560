package io.vertigrad.observability;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;

/** Registers the event bus counters of this process with Prometheus. */
final class BusMeters {

  private static final String SCOPE = "scope";

  private final MeterRegistry registry;

  private BusMeters(MeterRegistry registry) {
    this.registry = registry;
  }

  static void register(MeterRegistry registry, BusTraffic traffic) {
    BusMeters meters = new BusMeters(registry);
    meters.messages("vertigrad.bus.sent", traffic.sentLocally, traffic.sentAway);
    meters.messages("vertigrad.bus.received", traffic.receivedLocally, traffic.receivedFromAway);
    meters.count("vertigrad.bus.discarded", Tags.empty(), traffic.discarded);
    meters.count("vertigrad.bus.written.bytes", Tags.empty(), traffic.bytesWritten);
    meters.count("vertigrad.bus.read.bytes", Tags.empty(), traffic.bytesRead);
    meters.gauge("vertigrad.bus.pending", traffic.pending);
    meters.gauge("vertigrad.bus.handlers", traffic.handlers);
    traffic.failures.forEach(
        (failure, count) ->
            meters.count(
                "vertigrad.bus.reply.failures",
                Tags.of("failure", failure.name().toLowerCase(Locale.ROOT)),
                count));
  }

  private void messages(String name, LongAdder local, LongAdder remote) {
    count(name, Tags.of(SCOPE, "local"), local);
    count(name, Tags.of(SCOPE, "remote"), remote);
  }

  private void count(String name, Tags tags, LongAdder adder) {
    FunctionCounter.builder(name, adder, LongAdder::doubleValue).tags(tags).register(registry);
  }

  private void gauge(String name, LongAdder adder) {
    Gauge.builder(name, adder, LongAdder::doubleValue).register(registry);
  }
}
