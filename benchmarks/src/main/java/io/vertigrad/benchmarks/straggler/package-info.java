/** How much one slow worker costs the others. */
package io.vertigrad.benchmarks.straggler;
