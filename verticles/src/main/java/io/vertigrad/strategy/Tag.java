package io.vertigrad.strategy;

/**
 * Identifies a message between two workers, so that the order of arrival does not matter.
 *
 * @param round number of the exchange, counted from 0 in every membership epoch
 * @param phase number of the exchange within a round, from 0
 * @param piece number of the piece within the phase's vector, from 0
 */
public record Tag(long round, int phase, int piece) {}
