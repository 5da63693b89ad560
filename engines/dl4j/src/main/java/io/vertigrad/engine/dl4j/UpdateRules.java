package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.RmsProp;

/** Chooses the update rule that a configuration names. */
final class UpdateRules {

  private UpdateRules() {}

  static UpdateRule create(OptimizerConfig config, int length) {
    if (length == 0) {
      return new SgdRule(0);
    }
    return switch (config.name()) {
      case "sgd" -> config.momentum() == 0 ? new SgdRule(length) : momentum(config, length);
      case "nesterov" -> new MomentumRule(config.momentum(), 0, true, length);
      case "adam" -> new AdamRule(config, length);
      default -> new Nd4jRule(updater(config), length);
    };
  }

  private static UpdateRule momentum(OptimizerConfig config, int length) {
    return new MomentumRule(config.momentum(), config.dampening(), config.nesterov(), length);
  }

  private static IUpdater updater(OptimizerConfig config) {
    double rate = config.learningRate();
    return switch (config.name()) {
      case "adagrad" -> new AdaGrad(rate, config.epsilon());
      case "rmsprop" -> new RmsProp(rate, config.beta2(), config.epsilon());
      default ->
          throw new IllegalArgumentException(
              "optimizer '%s' is not known, expected one of %s"
                  .formatted(config.name(), String.join(", ", OptimizerConfig.NAMES)));
    };
  }
}
