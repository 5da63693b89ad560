/** Rounds of gradients and parameters without a model, beside raw TCP moving the same bytes. */
package io.vertigrad.benchmarks.exchange;
