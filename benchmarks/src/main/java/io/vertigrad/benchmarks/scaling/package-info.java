/**
 * Measures the samples per second of whole training runs, against one worker's loop without any
 * exchange.
 */
package io.vertigrad.benchmarks.scaling;
