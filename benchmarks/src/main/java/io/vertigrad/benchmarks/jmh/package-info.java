/** What happens to one partition of float32, step by step, under JMH. */
package io.vertigrad.benchmarks.jmh;
