/**
 * Measures the sum over all workers alone, against raw TCP that moves the same bytes around the
 * same ring.
 */
package io.vertigrad.benchmarks.allreduce;
