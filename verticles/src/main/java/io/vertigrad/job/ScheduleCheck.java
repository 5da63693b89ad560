package io.vertigrad.job;

import io.vertigrad.compute.optimizer.CosineSchedule;
import io.vertigrad.compute.optimizer.LearningRateSchedule;
import io.vertigrad.compute.optimizer.StepSchedule;
import io.vertigrad.compute.optimizer.WarmUp;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Compares the length of a job's learning-rate schedule with the length of the job. */
final class ScheduleCheck {

  /** A cosine that ends within this share of the run before its end counts as long enough. */
  private static final double LEAST_REST = 0.01;

  private ScheduleCheck() {}

  /**
   * Returns warnings if the schedule and the run do not fit. Each is one sentence: the key, the
   * value found, its effect, and what to do. Returns none if the training samples were not counted.
   *
   * @param job the job file
   * @param updates updates of the whole run
   * @return the warnings, at most a few
   */
  static List<String> warnings(JobConfig job, long updates) {
    if (job.trainingSamples().isEmpty()) {
      return List.of();
    }
    List<String> warnings = new ArrayList<>();
    LearningRateSchedule schedule = job.optimizer().schedule();
    if (schedule instanceof WarmUp warmUp) {
      warmUp(warmUp, updates, warnings);
      schedule = warmUp.next();
    }
    if (schedule instanceof CosineSchedule cosine) {
      cosine(cosine, job.epochs(), warnings);
    } else if (schedule instanceof StepSchedule step) {
      step(step, job.epochs(), warnings);
    }
    return warnings;
  }

  private static void warmUp(WarmUp warmUp, long updates, List<String> warnings) {
    if (warmUp.length() >= updates) {
      warnings.add(
          text(
              "optimizer.schedule.warmUpUpdates is %d, but the run has %d updates: the rate never"
                  + " gets to optimizer.learningRate; train longer, or give fewer",
              warmUp.length(), updates));
    }
  }

  private static void cosine(CosineSchedule cosine, double epochs, List<String> warnings) {
    double rest = 1 - cosine.length() / epochs;
    if (rest > LEAST_REST) {
      warnings.add(
          text(
              "optimizer.schedule.epochs is %s, but the run lasts %s epochs: its last %.0f %% train"
                  + " at %s times optimizer.learningRate; leave the key out to spread the cosine"
                  + " over the whole run",
              number(cosine.length()), number(epochs), 100 * rest, number(cosine.least())));
    }
  }

  private static void step(StepSchedule step, double epochs, List<String> warnings) {
    List<Double> beyond = step.milestones().stream().filter(m -> m >= epochs).toList();
    if (!beyond.isEmpty()) {
      String found =
          step.milestones().stream()
              .map(ScheduleCheck::number)
              .collect(Collectors.joining(", ", "[", "]"));
      long reached = step.milestones().size() - beyond.size();
      warnings.add(
          text(
              "optimizer.schedule.milestones are %s, but the run lasts %s epochs: the rate drops %d"
                  + " times instead of %d; train longer, or give earlier milestones",
              found, number(epochs), reached, step.milestones().size()));
    }
  }

  private static String number(double value) {
    return text(value == Math.rint(value) ? "%.0f" : "%.3g", value);
  }

  private static String text(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
