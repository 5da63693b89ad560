package io.vertigrad.strategy;

/**
 * What a message between two workers is, so that order of arrival does not matter.
 *
 * @param round number of the exchange, counted from 0 in every membership epoch
 * @param phase which of a round's exchanges, from 0
 * @param piece which piece of the phase's vector, from 0
 */
public record Tag(long round, int phase, int piece) {}
