/** Measures the processing of one float32 partition, step by step, under JMH. */
package io.vertigrad.benchmarks.jmh;
