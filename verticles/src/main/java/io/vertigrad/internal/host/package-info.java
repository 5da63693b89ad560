/**
 * The code inside a strategy verticle, and the way in which a server or a worker finds it.
 *
 * <p>{@link io.vertigrad.verticles.StrategyVerticle} provides the context and the address of a
 * {@link io.vertigrad.internal.host.StrategyHost}, which members in the same JVM use. A member of
 * another JVM opens a {@link io.vertigrad.internal.host.StrategyLink} to its {@link
 * io.vertigrad.internal.host.StrategyService}, and runs there.
 */
package io.vertigrad.internal.host;
