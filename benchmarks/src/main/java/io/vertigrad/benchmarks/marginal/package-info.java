/** What one more round of training costs, in every placement of the roles. */
package io.vertigrad.benchmarks.marginal;
