/** Runs in processes that are killed and stopped by a plan, and whether that left a trace. */
package io.vertigrad.benchmarks.chaos;
