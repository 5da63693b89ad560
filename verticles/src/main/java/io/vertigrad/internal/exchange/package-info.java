/**
 * The worker's side of every exchange: requests out partition by partition, parameters back.
 *
 * <p>A {@link io.vertigrad.internal.exchange.PartitionRound} says what to send and what to do with
 * each answer; a {@link io.vertigrad.internal.exchange.PartitionExchange} carries it. Workers
 * train, evaluators and launchers pull through the same door.
 */
package io.vertigrad.internal.exchange;
