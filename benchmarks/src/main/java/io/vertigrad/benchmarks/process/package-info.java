/** Runs measured code in JVMs of its own, which receive one JSON line at a time. */
package io.vertigrad.benchmarks.process;
