/**
 * Workers that talk to each other, and whoever reads a model from them.
 *
 * <p>{@link io.vertigrad.internal.peer.WorkerPeers} carries what a strategy beside a worker sends;
 * {@link io.vertigrad.internal.peer.SnapshotServer} shows a worker's parameters to readers.
 */
package io.vertigrad.internal.peer;
