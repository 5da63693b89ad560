/** Measures strategies and compression between two workers with a slow link between them. */
package io.vertigrad.benchmarks.slowlink;
