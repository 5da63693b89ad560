/**
 * What runs inside a strategy verticle, and how a server or a worker of the same JVM finds it.
 *
 * <p>{@link io.vertigrad.verticles.StrategyVerticle} gives a {@link
 * io.vertigrad.internal.host.StrategyHost} its context and its address.
 */
package io.vertigrad.internal.host;
