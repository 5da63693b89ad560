/** Measures how long a page of many runs takes to list them and to read their curves. */
package io.vertigrad.benchmarks.runlist;
