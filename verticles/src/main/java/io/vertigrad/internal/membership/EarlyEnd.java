package io.vertigrad.internal.membership;

/**
 * The reason for an end before the last step.
 *
 * @param reason {@code accuracy}, {@code loss} or {@code minutes}, whichever reached its threshold
 * @param threshold the value in the job file
 * @param value the value that was measured
 * @param version of the parameters at that time
 */
record EarlyEnd(String reason, double threshold, double value, long version) {}
