/** Samples per second of whole training runs, over one worker's loop with nobody to talk to. */
package io.vertigrad.benchmarks.scaling;
