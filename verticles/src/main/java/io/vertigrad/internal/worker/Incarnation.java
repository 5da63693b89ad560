package io.vertigrad.internal.worker;

import io.vertigrad.internal.exchange.SenderIdentity;
import java.util.function.BooleanSupplier;

/**
 * A worker as it was admitted once.
 *
 * @param identity who it is in frames
 * @param firstVersion version to start from, where workers move in rounds; 0 for any
 * @param gate opens when the job goes on
 * @param stop becomes true when this incarnation is to end
 */
public record Incarnation(
    SenderIdentity identity, long firstVersion, StepGate gate, BooleanSupplier stop) {}
