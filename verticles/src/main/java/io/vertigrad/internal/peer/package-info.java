/**
 * Communication between workers, and reading a model from workers.
 *
 * <p>{@link io.vertigrad.internal.peer.WorkerPeers} sends the messages of a worker's strategy.
 * {@link io.vertigrad.internal.peer.SnapshotServer} serves a worker's parameters to readers.
 */
package io.vertigrad.internal.peer;
