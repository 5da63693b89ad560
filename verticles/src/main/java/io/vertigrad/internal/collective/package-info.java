/**
 * Collective operations for strategies beside workers: no server holds the model, workers exchange
 * among themselves.
 *
 * <p>A {@link io.vertigrad.strategy.PeerStrategy} is a plain object on its worker's thread. It
 * reaches the others through {@link io.vertigrad.strategy.Peers}, which hides the transport.
 */
package io.vertigrad.internal.collective;
