/**
 * The verticles that train: thin hosts around plain objects.
 *
 * <p>Strategies, stores, membership and the training loop know no event bus and are tested without
 * one; the verticles give them a thread, an address and a clock.
 */
package io.vertigrad.verticles;
