package io.vertigrad.compute.dl4j;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.learning.config.RmsProp;

/** Chooses the update rule that a configuration names. */
final class UpdateRules {

  private UpdateRules() {}

  static UpdateRule create(OptimizerConfig config, int length) {
    if (length == 0 || config.name().equals("sgd")) {
      return config.momentum() == 0 || length == 0
          ? new SgdRule(length)
          : new MomentumRule(config, length);
    }
    return new Nd4jRule(updater(config), length);
  }

  private static IUpdater updater(OptimizerConfig config) {
    double rate = config.learningRate();
    return switch (config.name()) {
      case "nesterov" -> new Nesterovs(rate, config.momentum());
      case "adam" -> new Adam(rate, config.beta1(), config.beta2(), config.epsilon());
      case "adagrad" -> new AdaGrad(rate, config.epsilon());
      case "rmsprop" -> new RmsProp(rate, config.beta2(), config.epsilon());
      default ->
          throw new IllegalArgumentException(
              "optimizer '%s' is not known, expected one of %s"
                  .formatted(config.name(), String.join(", ", OptimizerConfig.NAMES)));
    };
  }
}
