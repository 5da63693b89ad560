/**
 * Repeated measurements, the machine they were taken on, and the tables and files that show them.
 */
package io.vertigrad.benchmarks.report;
