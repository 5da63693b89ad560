/** Measures how much of the wait for a slow link overlaps with the backward pass. */
package io.vertigrad.benchmarks.overlap;
