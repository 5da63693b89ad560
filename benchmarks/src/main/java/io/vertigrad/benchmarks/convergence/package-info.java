/**
 * Measures accuracy and consensus of every strategy against the samples seen, on the same data and
 * budget.
 */
package io.vertigrad.benchmarks.convergence;
