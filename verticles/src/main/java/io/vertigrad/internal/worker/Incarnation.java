package io.vertigrad.internal.worker;

import io.vertigrad.internal.exchange.SenderIdentity;
import java.util.function.BooleanSupplier;

/**
 * One admission of a worker to its job.
 *
 * @param identity the worker's identity in frames
 * @param firstVersion version to start from in lockstep; 0 for any version
 * @param firstStep the first of its own steps; with servers, the first of its rank that any of them
 *     lacks
 * @param gate open while steps may begin
 * @param stop returns true when this incarnation has to end
 */
public record Incarnation(
    SenderIdentity identity,
    long firstVersion,
    long firstStep,
    StepGate gate,
    BooleanSupplier stop) {}
