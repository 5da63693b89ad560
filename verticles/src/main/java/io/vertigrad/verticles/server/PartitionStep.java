package io.vertigrad.verticles.server;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.optimizer.LearningRateSchedule;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.verticles.job.Partition;
import java.nio.FloatBuffer;

/** How one partition follows a reduced gradient: the optimizer, or for statistics a subtraction. */
final class PartitionStep {

  private final OptimizerConfig optimizer;
  private final UpdateRule rule;

  private PartitionStep(OptimizerConfig optimizer, UpdateRule rule) {
    this.optimizer = optimizer;
    this.rule = rule;
  }

  static PartitionStep of(Partition partition, StoreConfig config) {
    return partition.kind() == Block.Kind.STATISTIC
        ? new PartitionStep(null, null)
        : new PartitionStep(
            config.optimizer(), config.engine().updateRule(config.optimizer(), partition.length()));
  }

  /**
   * Steps the parameters in place.
   *
   * @param gradient reduced gradient; overwritten
   * @param updates updates applied before this one
   * @param epochs samples applied so far over the size of the training set
   */
  void step(float[] parameters, float[] gradient, long updates, double epochs) {
    float decay = 0;
    if (rule != null) {
      LearningRateSchedule schedule = optimizer.schedule();
      double rate = optimizer.learningRate() * schedule.factor(updates, epochs);
      decay = (float) (rate * optimizer.weightDecay());
      addL2(parameters, gradient);
      rule.toStep(gradient, rate, updates);
    }
    for (int i = 0; i < parameters.length; i++) {
      parameters[i] -= gradient[i];
    }
    if (decay != 0) {
      for (int i = 0; i < parameters.length; i++) {
        parameters[i] -= decay * parameters[i];
      }
    }
  }

  int stateLength() {
    return rule == null ? 0 : rule.stateLength();
  }

  /** A copy of the state. */
  float[] state() {
    float[] state = new float[stateLength()];
    if (state.length > 0) {
      rule.readState(FloatBuffer.wrap(state));
    }
    return state;
  }

  void restore(float[] state) {
    if (state.length > 0) {
      rule.writeState(FloatBuffer.wrap(state));
    }
  }

  private void addL2(float[] parameters, float[] gradient) {
    float l2 = (float) optimizer.l2();
    if (l2 != 0) {
      for (int i = 0; i < parameters.length; i++) {
        gradient[i] += l2 * parameters[i];
      }
    }
  }
}
