/**
 * Workers with data of their own: accuracy on unlike data and beside liars, time without waiting,
 * and what a robust reduction costs.
 */
package io.vertigrad.benchmarks.owndata;
