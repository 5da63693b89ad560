package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.util.List;

/**
 * The evaluator of a job.
 *
 * @param count 0 or 1; without an evaluator the launcher tests the final model itself
 * @param every versions between two evaluations: rounds, or single updates in a job where each
 *     gradient is one; 0 if the interval is in epochs
 * @param everyEpochs passes over the training set between two evaluations; 0 if the interval is in
 *     versions
 * @param samples test samples of each of these evaluations; the final one uses the whole test set
 * @param topK a test also counts the samples whose class is among the K most probable; 0 for no
 *     such count
 * @param blocking true if training waits at a version to test until the test has ended
 */
public record EvaluatorConfig(
    int count, long every, double everyEpochs, int samples, int topK, boolean blocking) {

  /** Keys of the section of which at most one may be given. */
  public static final List<String> INTERVALS = List.of("every", "everyEpochs");

  private static final double FEWEST_EPOCHS = 1e-6;
  private static final double MOST_EPOCHS = 1e6;

  static EvaluatorConfig read(Settings section) {
    boolean inEpochs = section.has("everyEpochs");
    if (inEpochs && section.has("every")) {
      throw section.refuse(
          "everyEpochs", "is given, and evaluator.every as well, expected one of them");
    }
    EvaluatorConfig config =
        new EvaluatorConfig(
            section.integer("count", 1, 0, 1),
            inEpochs ? 0 : section.longInteger("every", 10, 1, Long.MAX_VALUE),
            inEpochs ? section.number("everyEpochs", 1, FEWEST_EPOCHS, MOST_EPOCHS) : 0,
            section.integer("samples", 1152, 1, Integer.MAX_VALUE),
            section.integer("topK", 0, 0, Integer.MAX_VALUE),
            section.flag("blocking", false));
    if (config.blocking && config.count == 0) {
      throw section.refuse("blocking", "is true, but evaluator.count is 0: nobody would test");
    }
    section.refuseUnknown();
    return config;
  }
}
