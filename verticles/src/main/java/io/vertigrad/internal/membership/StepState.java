package io.vertigrad.internal.membership;

/**
 * Whether a worker is in a step, as it answers when the job is brought to rest.
 *
 * @param version highest version that it has seen
 * @param pause number of the newest word on pauses that it has heard
 * @param idle true when it is in no step and has shown what it holds
 */
public record StepState(long version, long pause, boolean idle) {}
