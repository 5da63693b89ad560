/** Measures the cost of dividing a model into stages, and shows what it makes possible. */
package io.vertigrad.benchmarks.pipeline;
