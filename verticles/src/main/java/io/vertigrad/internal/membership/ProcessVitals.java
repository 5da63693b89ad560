package io.vertigrad.internal.membership;

import io.vertigrad.internal.RecordJson.MayBeAbsent;
import java.util.Map;

/**
 * Measurements of a member's process, sent with its heartbeats.
 *
 * @param cores processors that it kept busy since the last heartbeat
 * @param processors number of processors of its machine
 * @param heapBytes heap in use
 * @param heapLimitBytes greatest size of the heap
 * @param offHeapBytes memory of the engine's arrays outside the heap
 * @param residentBytes physical memory of the process, heap included
 * @param busyGpus sum of the shares of time in which the GPUs of its models compute, 0 to 1 each
 * @param gpuBytes memory in use on these GPUs, by all processes
 * @param roundTripMillis50 median round trip to the coordinator over its last heartbeats
 * @param roundTripMillis99 99th percentile of the same
 * @param roundTripMicrosSum sum of all round trips of this process
 * @param roundTrips number of all round trips by bucket, as {@link io.vertigrad.events.TimeBuckets}
 *     has them
 */
@MayBeAbsent
record ProcessVitals(
    double cores,
    int processors,
    long heapBytes,
    long heapLimitBytes,
    long offHeapBytes,
    long residentBytes,
    double busyGpus,
    long gpuBytes,
    double roundTripMillis50,
    double roundTripMillis99,
    long roundTripMicrosSum,
    Map<Integer, Long> roundTrips) {}
