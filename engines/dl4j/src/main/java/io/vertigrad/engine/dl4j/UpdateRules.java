package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.PlainRules;
import io.vertigrad.compute.optimizer.UpdateRule;
import org.nd4j.linalg.learning.config.AdaGrad;
import org.nd4j.linalg.learning.config.RmsProp;

/** Chooses the update rule that a configuration names: ND4J's for rules whose state ND4J keeps. */
final class UpdateRules {

  private UpdateRules() {}

  static UpdateRule create(OptimizerConfig config, int length) {
    double rate = config.learningRate();
    if (length == 0) {
      return PlainRules.create(OptimizerConfig.sgd(rate), 0);
    }
    return switch (config.name()) {
      case "adam" -> new AdamRule(config, length);
      case "adagrad" -> new Nd4jRule(new AdaGrad(rate, config.epsilon()), length);
      case "rmsprop" -> new Nd4jRule(new RmsProp(rate, config.beta2(), config.epsilon()), length);
      default -> PlainRules.create(config, length);
    };
  }
}
