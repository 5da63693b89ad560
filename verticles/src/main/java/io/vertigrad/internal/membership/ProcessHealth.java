package io.vertigrad.internal.membership;

import com.sun.management.OperatingSystemMXBean;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.NativeMemory;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertx.core.json.JsonObject;
import java.lang.management.ManagementFactory;
import java.util.ServiceConfigurationError;
import java.util.function.Supplier;

/** How a member's process is: what travels with its heartbeats; single-threaded. */
final class ProcessHealth {

  private static final Runtime RUNTIME = Runtime.getRuntime();

  private final Supplier<NativeMemory> engineMemory;
  private final RoundTrips roundTrips = new RoundTrips();
  private long cpuNanos = cpuNanos();
  private long measuredNanos = System.nanoTime();

  /** {@code engine} is whose memory counts as off-heap; a member without that engine has none. */
  ProcessHealth(String engine) {
    engineMemory = memoryOf(engine);
  }

  /** A request to the coordinator was answered after so long. */
  void answered(long tookNanos) {
    roundTrips.add(tookNanos);
  }

  /** The state of this process now; processor time since the call before. */
  JsonObject measure() {
    NativeMemory memory = engineMemory.get();
    return new JsonObject()
        .put("cores", cores())
        .put("processors", RUNTIME.availableProcessors())
        .put("heapBytes", RUNTIME.totalMemory() - RUNTIME.freeMemory())
        .put("heapLimitBytes", RUNTIME.maxMemory())
        .put("offHeapBytes", memory.allocatedBytes())
        .put("residentBytes", memory.residentBytes())
        .put("roundTripMillis50", roundTrips.quantileMillis(0.5))
        .put("roundTripMillis99", roundTrips.quantileMillis(0.99));
  }

  /** As an event of the member that measured them. */
  static MemberVitals event(
      long timeMillis, String role, int rank, int incarnation, String node, JsonObject health) {
    return new MemberVitals(
        timeMillis,
        role,
        rank,
        incarnation,
        node,
        health.getDouble("cores", 0.0),
        health.getInteger("processors", 0),
        health.getLong("heapBytes", 0L),
        health.getLong("heapLimitBytes", 0L),
        health.getLong("offHeapBytes", 0L),
        health.getLong("residentBytes", 0L),
        health.getDouble("roundTripMillis50", 0.0),
        health.getDouble("roundTripMillis99", 0.0));
  }

  private static Supplier<NativeMemory> memoryOf(String engine) {
    try {
      return Engine.named(engine)::memory;
    } catch (IllegalArgumentException | ServiceConfigurationError missing) {
      return () -> NativeMemory.UNKNOWN;
    }
  }

  private double cores() {
    long cpu = cpuNanos();
    long now = System.nanoTime();
    double busy = (double) (cpu - cpuNanos) / Math.max(1, now - measuredNanos);
    cpuNanos = cpu;
    measuredNanos = now;
    return Math.max(0, busy);
  }

  private static long cpuNanos() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
        ? system.getProcessCpuTime()
        : 0;
  }
}
