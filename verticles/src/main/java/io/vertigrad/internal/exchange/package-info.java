/**
 * The worker's side of every exchange: it sends requests partition by partition and gets parameters
 * back.
 *
 * <p>A {@link io.vertigrad.internal.exchange.PartitionClient.Round} defines the requests and
 * handles the answers. A {@link io.vertigrad.internal.exchange.PartitionClient} sends and receives
 * them. Workers use it to train, evaluators and launchers to pull parameters.
 */
package io.vertigrad.internal.exchange;
