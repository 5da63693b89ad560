/**
 * Measures rounds of gradients and parameters without a model, against raw TCP that moves the same
 * bytes.
 */
package io.vertigrad.benchmarks.exchange;
