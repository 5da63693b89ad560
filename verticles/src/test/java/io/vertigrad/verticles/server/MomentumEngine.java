package io.vertigrad.verticles.server;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import java.nio.FloatBuffer;
import java.util.Map;

/** Heavy-ball momentum in a few lines: {@code v = mu v + g, p -= lr v}; plain SGD for mu = 0. */
final class MomentumEngine implements Engine {

  private final float momentum;

  MomentumEngine(float momentum) {
    this.momentum = momentum;
  }

  @Override
  public String name() {
    return "momentum";
  }

  @Override
  public Model model(ModelConfig config) {
    throw new IllegalArgumentException("this engine has update rules only");
  }

  @Override
  public UpdateRule updateRule(OptimizerConfig config, int length) {
    return momentum == 0 ? new Rule(0, 0) : new Rule(momentum, length);
  }

  @Override
  public Map<String, String> describe() {
    return Map.of();
  }

  private static final class Rule implements UpdateRule {

    private final float momentum;
    private final float[] velocity;

    Rule(float momentum, int length) {
      this.momentum = momentum;
      this.velocity = new float[length];
    }

    @Override
    public void toStep(float[] gradient, double learningRate, long iteration) {
      for (int i = 0; i < gradient.length; i++) {
        float step = gradient[i];
        if (velocity.length > 0) {
          velocity[i] = momentum * velocity[i] + step;
          step = velocity[i];
        }
        gradient[i] = (float) learningRate * step;
      }
    }

    @Override
    public int stateLength() {
      return velocity.length;
    }

    @Override
    public void readState(FloatBuffer destination) {
      destination.put(velocity);
    }

    @Override
    public void writeState(FloatBuffer source) {
      source.get(velocity);
    }
  }
}
