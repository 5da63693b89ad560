/**
 * Computes the cost of strategies with many workers: it runs the real strategies in virtual time.
 */
package io.vertigrad.benchmarks.scale;
