package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import java.nio.FloatBuffer;
import org.nd4j.linalg.learning.config.Adam;

/**
 * Adam (Kingma and Ba, 2015) as PyTorch computes it: {@code lr m' / (sqrt(v') + epsilon)}, with m'
 * and v' corrected for their bias.
 *
 * <p>ND4J corrects the rate instead and adds epsilon to the uncorrected root. That equals {@code
 * epsilon / sqrt(1 - beta2^t)} here, which is 32 times too much at the first update. So ND4J gets
 * an epsilon that is smaller by that factor.
 */
final class AdamRule implements UpdateRule {

  private final double beta2;
  private final double epsilon;
  private final Adam adam;
  private final Nd4jRule rule;

  AdamRule(OptimizerConfig config, int length) {
    this.beta2 = config.beta2();
    this.epsilon = config.epsilon();
    this.adam = new Adam(config.learningRate(), config.beta1(), beta2, epsilon);
    this.rule = new Nd4jRule(adam, length);
  }

  @Override
  public void toStep(float[] gradient, double learningRate, long iteration) {
    adam.setEpsilon(epsilon * Math.sqrt(1 - Math.pow(beta2, iteration + 1.0)));
    rule.toStep(gradient, learningRate, iteration);
  }

  @Override
  public int stateLength() {
    return rule.stateLength();
  }

  @Override
  public void readState(FloatBuffer destination) {
    rule.readState(destination);
  }

  @Override
  public void writeState(FloatBuffer source) {
    rule.writeState(source);
  }
}
