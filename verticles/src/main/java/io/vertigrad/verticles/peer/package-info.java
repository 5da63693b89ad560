/**
 * Workers that talk to each other, and whoever reads a model from them.
 *
 * <p>{@link io.vertigrad.verticles.peer.WorkerPeers} carries what a strategy beside a worker sends;
 * {@link io.vertigrad.verticles.peer.ReplicaSeat} shows a worker's parameters to readers.
 */
package io.vertigrad.verticles.peer;
