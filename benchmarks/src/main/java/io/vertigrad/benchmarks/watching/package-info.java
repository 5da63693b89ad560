/** Measures what it costs a run to be watched by many clients. */
package io.vertigrad.benchmarks.watching;
