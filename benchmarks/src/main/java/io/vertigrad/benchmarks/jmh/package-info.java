/** What happens to one full frame of float32, step by step, under JMH. */
package io.vertigrad.benchmarks.jmh;
