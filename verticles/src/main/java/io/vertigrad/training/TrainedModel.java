package io.vertigrad.training;

import io.vertigrad.events.TrainingEvent.Evaluated;

/**
 * Parameters that were read from a job's members.
 *
 * @param parameters in exchange order; not to be changed
 * @param test how they do on the test set, and their hash
 */
record TrainedModel(float[] parameters, Evaluated test) {}
