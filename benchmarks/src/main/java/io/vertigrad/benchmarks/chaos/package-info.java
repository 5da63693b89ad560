/** Kills and stops the processes of runs by a plan, and checks whether that left a trace. */
package io.vertigrad.benchmarks.chaos;
