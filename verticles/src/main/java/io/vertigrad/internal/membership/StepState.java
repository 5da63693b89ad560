package io.vertigrad.internal.membership;

import io.vertigrad.internal.RecordJson.MayBeAbsent;

/**
 * Reports whether a worker is in a step, while the job is brought to rest.
 *
 * @param version highest version that it has received
 * @param pause number of the newest pause that it has received
 * @param idle true when it is in no step and has published its state to the readers of it
 */
@MayBeAbsent
public record StepState(long version, long pause, boolean idle) {}
