package io.vertigrad.internal.membership;

/**
 * Why a job ends before its last step.
 *
 * @param reason which of {@code accuracy}, {@code loss} and {@code minutes} was reached
 * @param threshold what the job file asks for
 * @param value what was found
 * @param version of the parameters that it was found at
 */
public record EarlyEnd(String reason, double threshold, double value, long version) {}
