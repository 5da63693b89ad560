/** Repeated measurements, the machine they were taken on, and how both are shown and kept. */
package io.vertigrad.benchmarks.report;
