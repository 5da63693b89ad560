/** How much of a run's throughput is left when its workers fail again and again. */
package io.vertigrad.benchmarks.goodput;
