/**
 * The worker: load a batch, compute a gradient, exchange it for the next parameters, repeat.
 *
 * <p>{@link io.vertigrad.internal.worker.TrainingLoop} is a plain object with its own thread.
 * {@link io.vertigrad.verticles.WorkerVerticle} provides its model, data and job.
 */
package io.vertigrad.internal.worker;
