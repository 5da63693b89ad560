package io.vertigrad.internal.membership;

/**
 * How the process of a member is, as its heartbeats tell it.
 *
 * @param cores processors it kept busy since the heartbeat before
 * @param processors how many its machine has
 * @param heapBytes in use
 * @param heapLimitBytes most that the heap may grow to
 * @param offHeapBytes memory of the engine's arrays outside the heap
 * @param residentBytes physical memory of the process, heap included
 * @param roundTripMillis50 median time to the coordinator and back, of its last heartbeats
 * @param roundTripMillis99 the same, 99th percentile
 */
record ProcessVitals(
    double cores,
    int processors,
    long heapBytes,
    long heapLimitBytes,
    long offHeapBytes,
    long residentBytes,
    double roundTripMillis50,
    double roundTripMillis99) {}
