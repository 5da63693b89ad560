/**
 * Strategies that sit beside the workers: no server holds the model, workers talk to each other.
 *
 * <p>A {@link io.vertigrad.strategy.PeerStrategy} is a plain object on its worker's thread. It
 * reaches the others through {@link io.vertigrad.strategy.Peers}, which knows the way; it knows no
 * bus.
 */
package io.vertigrad.internal.collective;
