package io.vertigrad.internal.membership;

import com.sun.management.OperatingSystemMXBean;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.NativeMemory;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import java.lang.management.ManagementFactory;
import java.util.ServiceConfigurationError;
import java.util.function.Supplier;

/** Measures a member's process for its heartbeats; single-threaded. */
final class ProcessHealth {

  private static final Runtime RUNTIME = Runtime.getRuntime();

  private final Supplier<NativeMemory> engineMemory;
  private final RoundTrips roundTrips = new RoundTrips();
  private long cpuNanos = cpuNanos();
  private long measuredNanos = System.nanoTime();

  /**
   * Creates the measurements of this process.
   *
   * @param engine its memory counts as off-heap; 0 if this process does not have the engine
   */
  ProcessHealth(String engine) {
    engineMemory = memoryOf(engine);
  }

  /** Records how long the coordinator took to answer a request. */
  void answered(long tookNanos) {
    roundTrips.add(tookNanos);
  }

  /**
   * Returns the current state of this process; the processor time is the one since the last call.
   */
  ProcessVitals measure() {
    NativeMemory memory = engineMemory.get();
    return new ProcessVitals(
        cores(),
        RUNTIME.availableProcessors(),
        RUNTIME.totalMemory() - RUNTIME.freeMemory(),
        RUNTIME.maxMemory(),
        memory.allocatedBytes(),
        memory.residentBytes(),
        roundTrips.quantileMillis(0.5),
        roundTrips.quantileMillis(0.99));
  }

  /** Returns the measurements as an event of their member. */
  static MemberVitals event(
      long timeMillis, String role, int rank, int incarnation, String node, ProcessVitals vitals) {
    return new MemberVitals(
        timeMillis,
        role,
        rank,
        incarnation,
        node,
        vitals.cores(),
        vitals.processors(),
        vitals.heapBytes(),
        vitals.heapLimitBytes(),
        vitals.offHeapBytes(),
        vitals.residentBytes(),
        vitals.roundTripMillis50(),
        vitals.roundTripMillis99());
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
