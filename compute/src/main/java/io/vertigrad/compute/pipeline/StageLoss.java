package io.vertigrad.compute.pipeline;

import java.nio.FloatBuffer;

/**
 * The last stage's result for a micro-batch.
 *
 * @param sum of the samples' losses
 * @param correct number of correct predictions; -1 if the stage does not count them
 * @param inputGradient gradient of that sum with respect to the input; empty in the first stage
 */
public record StageLoss(double sum, int correct, FloatBuffer inputGradient) {}
