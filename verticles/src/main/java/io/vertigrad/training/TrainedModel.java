package io.vertigrad.training;

import io.vertigrad.events.TrainingEvent.Evaluated;

/**
 * Parameters that were read from a job's members, with their test.
 *
 * @param parameters the parameters in exchange order; not to be changed
 * @param test their score on the test set, and their hash
 */
record TrainedModel(float[] parameters, Evaluated test) {}
