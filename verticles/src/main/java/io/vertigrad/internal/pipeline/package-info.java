/**
 * Model parallelism: the stages of one model in a row of members, activations forward, gradients
 * back, each stage stepping its own parameters.
 *
 * <p>{@link io.vertigrad.internal.pipeline.Schedule} says which stage does what when; {@link
 * io.vertigrad.verticles.StageVerticle} plays one stage.
 */
package io.vertigrad.internal.pipeline;
