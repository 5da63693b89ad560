package io.vertigrad.compute.pipeline;

import java.nio.FloatBuffer;

/**
 * What the last stage makes of a micro-batch.
 *
 * @param sum of the samples' losses
 * @param correct how many answers were right; -1 where the stage cannot tell
 * @param inputGradient of that sum; empty in the first stage
 */
public record StageLoss(double sum, int correct, FloatBuffer inputGradient) {}
