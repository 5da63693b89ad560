/**
 * What runs inside a strategy verticle, and how a server or a worker finds it.
 *
 * <p>{@link io.vertigrad.verticles.StrategyVerticle} gives a {@link
 * io.vertigrad.internal.host.StrategyHost} its context and its address. Members of the same JVM use
 * that, members of another one a {@link io.vertigrad.internal.host.StrategyLink} to its {@link
 * io.vertigrad.internal.host.StrategyService}.
 */
package io.vertigrad.internal.host;
