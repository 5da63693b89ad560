package io.vertigrad.strategy;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * What a strategy beside a worker is given.
 *
 * @param peers the line to the others
 * @param replica this worker's parameters
 * @param optimizers makes an optimizer of the replica's vector, with zero state
 * @param optimizer how the job wants parameters to follow gradients
 * @param workers how many the job starts with
 * @param batch samples of a full batch of one worker
 * @param type how numbers travel
 * @param compression how gradients are made smaller than that
 * @param pieceElements most elements of one message
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
