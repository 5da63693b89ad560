package io.vertigrad.verticles.job;

import io.vertigrad.codecs.settings.Settings;

/**
 * The evaluator of a job.
 *
 * @param count 0 or 1; without one the launcher tests the final model itself
 * @param every rounds (sync) or {@code every * workers} updates (async) between two evaluations
 * @param samples test samples of each of these; the end is always tested on the whole set
 * @param topK a test also counts the samples whose class is among so many of the most probable; 0
 *     for not
 */
public record EvaluatorConfig(int count, long every, int samples, int topK) {

  static EvaluatorConfig read(Settings section) {
    EvaluatorConfig config =
        new EvaluatorConfig(
            section.integer("count", 1, 0, 1),
            section.longInteger("every", 10, 1, Long.MAX_VALUE),
            section.integer("samples", 1152, 1, Integer.MAX_VALUE),
            section.integer("topK", 0, 0, Integer.MAX_VALUE));
    section.refuseUnknown();
    return config;
  }
}
