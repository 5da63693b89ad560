/** What cutting a model into stages costs, and what it makes possible. */
package io.vertigrad.benchmarks.pipeline;
