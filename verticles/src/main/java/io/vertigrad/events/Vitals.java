package io.vertigrad.events;

import io.vertigrad.internal.RecordJson.Inline;
import io.vertigrad.internal.RecordJson.MayBeAbsent;
import java.util.Map;

/**
 * Measurements of a member's process, sent with its heartbeats.
 *
 * @param values what was measured; each stands under its own key in JSON
 * @param roundTripMicrosSum sum of all round trips to the coordinator, in microseconds
 * @param roundTrips number of all round trips by bucket, as {@link TimeBuckets} has them
 */
@MayBeAbsent
public record Vitals(
    @Inline Map<Vital, Double> values, long roundTripMicrosSum, Map<Integer, Long> roundTrips) {

  /** The unit of memory. */
  public static final String BYTES = "bytes";

  /** A number that is measured. Its text is its key in JSON. */
  public enum Vital {
    /** Number of processors that the process kept busy since its previous heartbeat. */
    CORES("cores", ""),
    /** Number of processors of its machine. */
    PROCESSORS("processors", ""),
    /** Heap in use. */
    HEAP("heapBytes", Vitals.BYTES),
    /** Greatest size of the heap. */
    HEAP_LIMIT("heapLimitBytes", Vitals.BYTES),
    /** Memory of the engine's arrays outside the heap. */
    OFF_HEAP("offHeapBytes", Vitals.BYTES),
    /** Physical memory of the process, including the heap. */
    RESIDENT("residentBytes", Vitals.BYTES),
    /** Sum of the shares of time in which the GPUs of its models compute, 0 to 1 each. */
    BUSY_GPUS("busyGpus", ""),
    /** Memory in use on these GPUs, by all processes. */
    GPU_MEMORY("gpuBytes", Vitals.BYTES),
    /** Median round trip to the coordinator, of its last heartbeats. */
    ROUND_TRIP_MEDIAN("roundTripMillis50", "milliseconds"),
    /** 99th percentile of the same. */
    ROUND_TRIP_99("roundTripMillis99", "milliseconds");

    private final String key;
    private final String unit;

    Vital(String key, String unit) {
      this.key = key;
      this.unit = unit;
    }

    /**
     * Returns the unit of the number.
     *
     * @return such as {@link Vitals#BYTES}; empty for a number of things
     */
    public String unit() {
      return unit;
    }

    @Override
    public String toString() {
      return key;
    }
  }

  /**
   * Returns a measurement.
   *
   * @param vital which one
   * @return its value; 0 if it was not measured, as for GPUs where there are none
   */
  public double value(Vital vital) {
    return values.getOrDefault(vital, 0.0);
  }
}
