/** Prints trajectories of the strategy {@code diloco}, to compare with those of other programs. */
package io.vertigrad.benchmarks.diloco;
