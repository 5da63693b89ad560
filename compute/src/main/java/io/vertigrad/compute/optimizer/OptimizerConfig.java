package io.vertigrad.compute.optimizer;

import io.vertigrad.compute.settings.Settings;
import java.util.List;

/**
 * The optimizer of a job: its update rule and settings.
 *
 * <p>Every rule equals PyTorch's rule of the same name. {@code sgd} with momentum is {@code v = mu
 * v + (1 - dampening) g; p -= lr v}, where the first update sets {@code v = g}. {@code nesterov} is
 * PyTorch's {@code SGD} with {@code nesterov=True}: without dampening, and {@code p -= lr (g + mu
 * v)}. Nadam is not available, because ND4J computes it wrongly.
 *
 * @param name {@code sgd}, {@code nesterov}, {@code adam}, {@code adagrad} or {@code rmsprop}
 * @param learningRate base rate, before the schedule
 * @param momentum for {@code sgd}, where 0 is none, and {@code nesterov}
 * @param dampening for {@code sgd} with momentum: the fraction of a gradient that is not added to
 *     the velocity
 * @param beta1 for {@code adam}
 * @param beta2 for {@code adam}; the decay of {@code rmsprop}
 * @param epsilon for {@code adam}, {@code adagrad} and {@code rmsprop}
 * @param l2 coupled decay: {@code l2 * p} is added to the gradient before the rule
 * @param weightDecay decoupled decay: {@code p -= learningRate * weightDecay * p} after the rule
 * @param clipNorm largest norm of a gradient that a worker sends (L2 norm over all trainable
 *     elements); 0 for no limit
 * @param schedule change of the rate over the run
 */
public record OptimizerConfig(
    String name,
    double learningRate,
    double momentum,
    double dampening,
    double beta1,
    double beta2,
    double epsilon,
    double l2,
    double weightDecay,
    double clipNorm,
    LearningRateSchedule schedule) {

  /** The names of the available update rules. */
  public static final List<String> NAMES = List.of("sgd", "nesterov", "adam", "adagrad", "rmsprop");

  public OptimizerConfig {
    if (!NAMES.contains(name)) {
      throw new IllegalArgumentException(
          "optimizer '%s' is not known, expected one of %s"
              .formatted(name, String.join(", ", NAMES)));
    }
    if (!(learningRate > 0) || Double.isInfinite(learningRate)) {
      throw new IllegalArgumentException(
          "learning rate is %s, expected more than 0".formatted(learningRate));
    }
  }

  /**
   * Creates plain SGD at a constant rate.
   *
   * @param learningRate above 0
   * @return a configuration without momentum, decay and clipping
   */
  public static OptimizerConfig sgd(double learningRate) {
    return new OptimizerConfig(
        "sgd", learningRate, 0, 0, 0.9, 0.999, 1e-8, 0, 0, 0, LearningRateSchedule.constant());
  }

  /**
   * Returns a copy with another base learning rate.
   *
   * @param rate above 0
   * @return a copy
   */
  public OptimizerConfig withLearningRate(double rate) {
    return new OptimizerConfig(
        name,
        rate,
        momentum,
        dampening,
        beta1,
        beta2,
        epsilon,
        l2,
        weightDecay,
        clipNorm,
        schedule);
  }

  /**
   * Returns a copy with another coupled decay.
   *
   * @param decay at least 0
   * @return a copy
   */
  public OptimizerConfig withL2(double decay) {
    return new OptimizerConfig(
        name,
        learningRate,
        momentum,
        dampening,
        beta1,
        beta2,
        epsilon,
        decay,
        weightDecay,
        clipNorm,
        schedule);
  }

  /**
   * Returns a copy with another momentum; with 0 it has no dampening either.
   *
   * @param fraction of the velocity that is kept in a step, at least 0
   * @return a copy
   */
  public OptimizerConfig withMomentum(double fraction) {
    return new OptimizerConfig(
        name,
        learningRate,
        fraction,
        fraction == 0 ? 0 : dampening,
        beta1,
        beta2,
        epsilon,
        l2,
        weightDecay,
        clipNorm,
        schedule);
  }

  /**
   * Returns the configuration for a run of a given length, when the schedule depends on the length.
   *
   * @param runEpochs passes over the training set by the end of the run
   * @return a copy, or this
   */
  public OptimizerConfig over(double runEpochs) {
    return new OptimizerConfig(
        name,
        learningRate,
        momentum,
        dampening,
        beta1,
        beta2,
        epsilon,
        l2,
        weightDecay,
        clipNorm,
        schedule.over(runEpochs));
  }

  /**
   * Returns whether all engines compute the same bits with this update rule.
   *
   * @return true for {@code sgd} and {@code nesterov}
   */
  public boolean isEngineIndependent() {
    return name.equals("sgd") || name.equals("nesterov");
  }

  /**
   * Reads the {@code optimizer} section of a job file; defaults are PyTorch's.
   *
   * @param settings the section
   * @return the configuration
   * @throws io.vertigrad.compute.settings.SettingsException when a key is unknown or out of range
   */
  public static OptimizerConfig read(Settings settings) {
    String name = settings.choice("name", "sgd", NAMES.toArray(String[]::new));
    double momentum = settings.number("momentum", name.equals("sgd") ? 0 : 0.9, 0, 0.999999);
    double dampening = settings.number("dampening", 0, 0, 1);
    if (!name.equals("sgd") && dampening != 0) {
      throw settings.refuse(
          "dampening",
          "is only for the optimizer sgd, found with %s: leave it out".formatted(name));
    }
    OptimizerConfig config =
        new OptimizerConfig(
            name,
            settings.number("learningRate", 0.01, 1e-12, 1e6),
            momentum,
            dampening,
            settings.number("beta1", 0.9, 0, 0.999999),
            settings.number("beta2", name.equals("rmsprop") ? 0.99 : 0.999, 0, 0.9999999),
            settings.number("epsilon", name.equals("adagrad") ? 1e-10 : 1e-8, 1e-20, 1),
            settings.number("l2", 0, 0, 1),
            settings.number("weightDecay", 0, 0, 1),
            settings.number("clipNorm", 0, 0, 1e12),
            ScheduleSettings.read(settings.section("schedule")));
    settings.refuseUnknown();
    return config;
  }
}
