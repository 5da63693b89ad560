package io.vertigrad.compute.optimizer;

import io.vertigrad.codecs.settings.Settings;
import java.util.List;

/**
 * How parameters follow gradients.
 *
 * @param name {@code sgd}, {@code nesterov}, {@code adam}, {@code adagrad} or {@code rmsprop}
 * @param learningRate base rate, before the schedule
 * @param momentum for {@code nesterov}
 * @param beta1 for {@code adam}
 * @param beta2 for {@code adam}; the decay of {@code rmsprop}
 * @param epsilon for {@code adam}, {@code adagrad} and {@code rmsprop}
 * @param l2 coupled decay: {@code l2 * p} is added to the gradient before the rule
 * @param weightDecay decoupled decay: {@code p -= learningRate * weightDecay * p} after the rule
 * @param clipNorm longest gradient a worker sends (L2 norm over all trainable elements); 0 for none
 * @param schedule how the rate changes over the run
 */
public record OptimizerConfig(
    String name,
    double learningRate,
    double momentum,
    double beta1,
    double beta2,
    double epsilon,
    double l2,
    double weightDecay,
    double clipNorm,
    LearningRateSchedule schedule) {

  /** The update rules on offer. */
  public static final List<String> NAMES =
      List.of("sgd", "nesterov", "adam", "adagrad", "rmsprop");

  /** Plain SGD at a constant rate. */
  public static OptimizerConfig sgd(double learningRate) {
    return new OptimizerConfig(
        "sgd", learningRate, 0.9, 0.9, 0.999, 1e-8, 0, 0, 0, LearningRateSchedule.constant());
  }

  /** Placeholder until the optimizer room lands. */
  public static OptimizerConfig read(Settings settings) {
    return sgd(settings.number("learningRate", 0.01, 0, 10));
  }
}
