package io.vertigrad.internal.membership;

import com.sun.management.OperatingSystemMXBean;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.GpuUse;
import io.vertigrad.compute.NativeMemory;
import io.vertigrad.events.TimeBuckets;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import java.lang.management.ManagementFactory;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.TreeMap;
import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.IntCountsHistogram;

/** Measures a member's process for its heartbeats; single-threaded. */
final class ProcessHealth {

  private static final Runtime RUNTIME = Runtime.getRuntime();

  private final Optional<Engine> engine;
  private final RoundTrips roundTrips = new RoundTrips();
  private long cpuNanos = cpuNanos();
  private long measuredNanos = System.nanoTime();

  /**
   * Creates the measurements of this process.
   *
   * @param engine its memory counts as off-heap; 0 if this process does not have the engine
   */
  ProcessHealth(String engine) {
    this.engine = found(engine);
  }

  /** Records how long the coordinator took to answer a request. */
  void recordRoundTrip(long nanos) {
    roundTrips.add(nanos);
  }

  /**
   * Returns the current state of this process; the processor time is the one since the last call.
   */
  Vitals measure() {
    NativeMemory memory = engine.map(Engine::memory).orElse(NativeMemory.UNKNOWN);
    GpuUse gpus = engine.map(Engine::gpuUse).orElse(GpuUse.NONE);
    Map<Vital, Double> values = new EnumMap<>(Vital.class);
    values.put(Vital.CORES, cores());
    values.put(Vital.PROCESSORS, (double) RUNTIME.availableProcessors());
    values.put(Vital.HEAP, (double) RUNTIME.totalMemory() - RUNTIME.freeMemory());
    values.put(Vital.HEAP_LIMIT, (double) RUNTIME.maxMemory());
    values.put(Vital.OFF_HEAP, (double) memory.allocatedBytes());
    values.put(Vital.RESIDENT, (double) memory.residentBytes());
    if (gpus.bytes() > 0) {
      values.put(Vital.BUSY_GPUS, gpus.busy());
      values.put(Vital.GPU_MEMORY, (double) gpus.bytes());
    }
    values.put(Vital.ROUND_TRIP_MEDIAN, roundTrips.quantileMillis(0.5));
    values.put(Vital.ROUND_TRIP_99, roundTrips.quantileMillis(0.99));
    return new Vitals(values, roundTrips.microsSum, Map.copyOf(roundTrips.counts));
  }

  private static Optional<Engine> found(String engine) {
    try {
      return Optional.of(Engine.named(engine));
    } catch (IllegalArgumentException | ServiceConfigurationError missing) {
      return Optional.empty();
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

  /**
   * The times of the last 100 to 200 answered requests, to three digits; single-threaded.
   *
   * <p>A histogram cannot forget single values, so there are two. One fills up; with 100 values it
   * replaces the one that was full before.
   */
  static final class RoundTrips {

    private static final int WINDOW = 100;
    private static final int DIGITS = 3;
    private static final long NANOS_PER_MICRO = 1_000;
    private static final double MICROS_PER_MILLI = 1e3;

    private AbstractHistogram filling = new IntCountsHistogram(DIGITS);
    private AbstractHistogram full = new IntCountsHistogram(DIGITS);
    private final AbstractHistogram both = new IntCountsHistogram(DIGITS);

    /** All round trips by the upper bound of their bucket. */
    private final Map<Integer, Long> counts = new TreeMap<>();

    private long microsSum;

    void add(long nanos) {
      long micros = nanos / NANOS_PER_MICRO;
      microsSum += micros;
      counts.merge(TimeBuckets.bound(micros), 1L, Long::sum);
      if (filling.getTotalCount() == WINDOW) {
        AbstractHistogram oldest = full;
        full = filling;
        filling = oldest;
        filling.reset();
      }
      filling.recordValue(micros);
    }

    /**
     * Returns the nearest-rank quantile in milliseconds: the smallest time that at least this share
     * of the requests did not exceed; 0 before the first request.
     *
     * @param share above 0, at most 1
     */
    double quantileMillis(double share) {
      both.reset();
      both.add(full);
      both.add(filling);
      return both.getValueAtPercentile(100 * share) / MICROS_PER_MILLI;
    }
  }
}
