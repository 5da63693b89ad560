/** Measures what disturbances by a plan cost, and plants faults that the check has to find. */
package io.vertigrad.benchmarks.chaos;
