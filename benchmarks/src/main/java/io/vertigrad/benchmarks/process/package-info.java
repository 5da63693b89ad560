/** Runs measured code in its own JVMs, which receive one JSON line at a time. */
package io.vertigrad.benchmarks.process;
