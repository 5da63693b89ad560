/**
 * {@code benchmarks/gpu/run}: checks the engine {@code pytorch} on a GPU within half an hour,
 * beside the processor and beside plain PyTorch.
 */
package io.vertigrad.benchmarks.gpu;
