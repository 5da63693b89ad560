/** Measured code in virtual machines of its own, driven by one JSON line at a time. */
package io.vertigrad.benchmarks.process;
