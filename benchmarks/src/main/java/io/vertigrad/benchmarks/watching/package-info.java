/** What it costs a run to be watched by many. */
package io.vertigrad.benchmarks.watching;
