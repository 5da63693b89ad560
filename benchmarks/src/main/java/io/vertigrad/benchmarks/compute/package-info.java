/**
 * Milliseconds of a gradient step: DL4J as it comes, and the same network in Vertigrad's engines.
 */
package io.vertigrad.benchmarks.compute;
