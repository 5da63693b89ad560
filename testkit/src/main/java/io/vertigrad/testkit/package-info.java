/**
 * Contract tests for your own strategies, and test doubles for models, data and networks.
 *
 * <p>{@link io.vertigrad.testkit.StrategyContract} tests what every strategy with parameter servers
 * must do: extend it and name the settings. {@link io.vertigrad.testkit.NetworkSimulator} trains a
 * whole job with a fake clock and a seed, over a network that loses, repeats and reorders frames.
 * {@link io.vertigrad.testkit.PointsJob} deploys real verticles in one JVM on data for which the
 * result has a closed form. {@link io.vertigrad.testkit.PacedData} makes a short job last until a
 * test has disturbed it.
 *
 * <p>The testkit uses internal classes of {@code vertigrad-verticles}: use both in the same
 * version, which {@code vertigrad-bom} ensures.
 */
package io.vertigrad.testkit;
