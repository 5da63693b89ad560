/**
 * Measures the milliseconds of a gradient step: stock DL4J, and the same network in Vertigrad's
 * engines.
 */
package io.vertigrad.benchmarks.compute;
