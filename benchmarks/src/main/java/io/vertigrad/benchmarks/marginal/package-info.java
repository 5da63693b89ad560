/** Measures the cost of one more round of training, in every placement of the roles. */
package io.vertigrad.benchmarks.marginal;
