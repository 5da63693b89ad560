/** What a sweep saves by stopping poor trials early. */
package io.vertigrad.benchmarks.sweep;
