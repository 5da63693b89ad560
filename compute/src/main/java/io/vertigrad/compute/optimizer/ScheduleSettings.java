package io.vertigrad.compute.optimizer;

import io.vertigrad.compute.settings.Settings;
import java.util.List;

/** Reads the {@code schedule} section of an optimizer. */
final class ScheduleSettings {

  private static final double MOST_EPOCHS = 1e6;

  private ScheduleSettings() {}

  static LearningRateSchedule read(Settings settings) {
    LearningRateSchedule schedule = named(settings);
    long warmUp = settings.longInteger("warmUpUpdates", 0, 0, Long.MAX_VALUE);
    double start = settings.number("warmUpStart", 0, 0, 1);
    settings.refuseUnknown();
    return warmUp == 0 ? schedule : new WarmUp(warmUp, start, schedule);
  }

  private static LearningRateSchedule named(Settings settings) {
    String name = settings.choice("name", "constant", "constant", "step", "exponential", "cosine");
    return switch (name) {
      case "step" -> step(settings);
      case "exponential" -> new ExponentialSchedule(settings.number("gamma", 0.95, 1e-6, 1));
      case "cosine" -> cosine(settings);
      default -> LearningRateSchedule.constant();
    };
  }

  /** Reads a cosine schedule; without a length it lasts as long as the run. */
  private static LearningRateSchedule cosine(Settings settings) {
    double least = settings.number("least", 0, 0, 1);
    return settings.has("epochs")
        ? new CosineSchedule(settings.number("epochs", 1, 1e-6, MOST_EPOCHS), least)
        : new WholeRunCosine(least);
  }

  private static LearningRateSchedule step(Settings settings) {
    List<Double> milestones = settings.numbers("milestones", List.of());
    double gamma = settings.number("gamma", 0.1, 1e-6, 1);
    if (milestones.isEmpty()) {
      throw settings.refuse(
          "milestones", "is missing, expected a list of epochs such as [80, 120]");
    }
    try {
      return new StepSchedule(milestones, gamma);
    } catch (IllegalArgumentException e) {
      throw settings.refuse("milestones", "is wrong: " + e.getMessage());
    }
  }
}
