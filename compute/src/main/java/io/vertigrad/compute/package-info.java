/**
 * Models, data and optimizers behind small interfaces that name no engine.
 *
 * <p>An engine is one package that implements {@link io.vertigrad.compute.Engine} and is named in
 * {@code META-INF/services}; {@code dl4j} and {@code pytorch} are two.
 */
package io.vertigrad.compute;
