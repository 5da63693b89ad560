/**
 * The verticles of a training job: thin hosts around plain objects.
 *
 * <p>Strategies, stores, membership and the training loop do not know the event bus and are tested
 * without one; the verticles give them a thread, an address and a clock.
 */
package io.vertigrad.verticles;
