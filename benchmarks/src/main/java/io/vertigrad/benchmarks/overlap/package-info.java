/** How much of the wait for a slow link goes on beside the backward pass. */
package io.vertigrad.benchmarks.overlap;
