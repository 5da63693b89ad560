package io.vertigrad.compute.optimizer;

/** Update rules computed in Java, for engines that have none of their own. */
public final class PlainRules {

  private PlainRules() {}

  /**
   * Creates a rule with zero state.
   *
   * @param config the optimizer
   * @param length trainable elements of the partition
   * @return a rule for use by one thread
   */
  public static UpdateRule create(OptimizerConfig config, int length) {
    return switch (config.name()) {
      case "sgd" ->
          config.momentum() == 0
              ? new SgdRule(length)
              : new MomentumRule(config.momentum(), config.dampening(), false, length);
      case "nesterov" -> new MomentumRule(config.momentum(), 0, true, length);
      case "adam" -> new AdaptiveRule.Adam(config, length);
      case "adagrad" -> AdaptiveRule.SquaredGradients.adaGrad(config, length);
      case "rmsprop" -> AdaptiveRule.SquaredGradients.rmsProp(config, length);
      default ->
          throw new IllegalArgumentException(
              "optimizer '%s' is not known, expected one of %s"
                  .formatted(config.name(), String.join(", ", OptimizerConfig.NAMES)));
    };
  }
}
