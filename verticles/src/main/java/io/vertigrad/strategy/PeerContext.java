package io.vertigrad.strategy;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * The context of a strategy beside a worker.
 *
 * @param peers connects the worker to the others
 * @param replica this worker's parameters
 * @param optimizers creates an optimizer of the replica's vector, with zero state, for {@link
 *     Replica#step}; it may be on the device of the worker's model
 * @param optimizer settings of the job's optimizer
 * @param workers number of workers that the job starts with
 * @param batch number of samples of a full batch of one worker
 * @param type in which numbers are sent
 * @param compression compresses gradients further
 * @param pieceElements largest number of elements of one message
 * @param nanoClock monotonic time in nanoseconds
 */
public record PeerContext(
    Peers peers,
    Replica replica,
    Function<OptimizerConfig, Optimizer> optimizers,
    OptimizerConfig optimizer,
    int workers,
    int batch,
    DataType type,
    Compression compression,
    int pieceElements,
    LongSupplier nanoClock) {}
