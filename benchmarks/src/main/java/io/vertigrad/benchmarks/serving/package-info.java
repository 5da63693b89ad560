/** Predictions: their latency while workers train, their number per second, and overload. */
package io.vertigrad.benchmarks.serving;
