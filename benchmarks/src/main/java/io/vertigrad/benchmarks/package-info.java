/** Measurements, each a program of its own that prints a table and writes JSON. */
package io.vertigrad.benchmarks;
