/**
 * The sum over all workers by itself, beside raw TCP moving the same bytes around the same ring.
 */
package io.vertigrad.benchmarks.allreduce;
