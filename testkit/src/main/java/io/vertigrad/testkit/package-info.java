/**
 * Tests for strategies of your own, and stand-ins for models, data and networks.
 *
 * <p>{@link io.vertigrad.testkit.StrategyContract} is what every strategy with parameter servers
 * must do: extend it and name the settings. {@link io.vertigrad.testkit.NetworkSimulator} trains a
 * whole job under a fake clock and a seed, over a network that loses, repeats and reorders frames.
 * {@link io.vertigrad.testkit.PointsJob} deploys real verticles in one JVM on data for which the
 * result has a closed form.
 *
 * <p>The testkit is built on internal classes of {@code vertigrad-verticles}: use both in the same
 * version, which {@code vertigrad-bom} sees to.
 */
package io.vertigrad.testkit;
