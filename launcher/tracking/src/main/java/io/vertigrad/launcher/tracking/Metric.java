package io.vertigrad.launcher.tracking;

/**
 * One point of one curve.
 *
 * @param name such as {@code test/accuracy}
 * @param step version of the parameters that the value belongs to
 * @param timeMillis wall-clock time in milliseconds since 1970
 * @param value a finite value
 */
record Metric(String name, long step, long timeMillis, double value) {}
