/**
 * Model parallelism: each member runs one stage of a model. Activations go forward, gradients go
 * back, and each stage updates its own parameters.
 *
 * <p>{@link io.vertigrad.internal.pipeline.Schedule} defines what each stage does and when; {@link
 * io.vertigrad.verticles.StageVerticle} runs one stage.
 */
package io.vertigrad.internal.pipeline;
