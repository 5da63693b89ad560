/**
 * The worker: batch, gradient, exchange, next parameters, again.
 *
 * <p>{@link io.vertigrad.internal.worker.TrainingLoop} is a plain object on a thread of its own;
 * {@link io.vertigrad.verticles.WorkerVerticle} gives it a model, data and a job.
 */
package io.vertigrad.internal.worker;
