/**
 * Measures every figure of {@code docs/measurements/} that is a comparison of speed, in turns and
 * beside other programs.
 */
package io.vertigrad.benchmarks.cells;
