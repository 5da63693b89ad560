/**
 * Measures Vertigrad against the limit and against stock settings, as ratios within one run; {@code
 * benchmarks/run} starts it.
 */
package io.vertigrad.benchmarks;
