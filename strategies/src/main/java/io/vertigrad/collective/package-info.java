/**
 * Collective operations for strategies beside workers, yours and the built-in ones: no server holds
 * the model, workers exchange among themselves.
 *
 * <p>{@link io.vertigrad.collective.AllReduce} sums a vector over all workers, {@link
 * io.vertigrad.collective.ScatterMean} averages one while they do other work, {@link
 * io.vertigrad.collective.RingBroadcast} copies one worker's vector to all, {@link
 * io.vertigrad.collective.LeaderGather} lets one worker decide for all. {@link
 * io.vertigrad.collective.InitialSync} brings the replicas of a new group to one state. Each blocks
 * the strategy's thread until the other workers of the group take part, throws {@link
 * io.vertigrad.strategy.GroupChangedException} when the group changes, and {@link
 * io.vertigrad.strategy.ExchangeException} at the deadline, naming who has sent nothing.
 *
 * <p>A {@link io.vertigrad.strategy.PeerStrategy} is a plain object on its worker's thread. It
 * reaches the others through {@link io.vertigrad.strategy.Peers}, which hides the transport.
 */
package io.vertigrad.collective;
