package io.vertigrad.internal.server;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.job.Partition;
import java.nio.FloatBuffer;
import java.util.Optional;

/**
 * Steps one partition with a reduced gradient: the optimizer, or {@code p -= g} for statistics.
 *
 * @param optimizer empty for statistics
 */
record PartitionStep(Optional<Optimizer> optimizer) {

  static PartitionStep of(Partition partition, StoreConfig config) {
    return partition.kind() == Block.Kind.STATISTIC
        ? new PartitionStep(Optional.empty())
        : new PartitionStep(
            Optional.of(Optimizer.of(config.engine(), config.optimizer(), partition.length())));
  }

  /**
   * Steps the parameters in place.
   *
   * @param gradient reduced gradient; overwritten
   * @param updates number of updates applied before this one
   * @param epochs samples applied so far divided by the size of the training set
   */
  void step(float[] parameters, float[] gradient, long updates, double epochs) {
    if (optimizer.isPresent()) {
      optimizer.get().step(parameters, gradient, updates, epochs);
      return;
    }
    for (int i = 0; i < parameters.length; i++) {
      parameters[i] -= gradient[i];
    }
  }

  int stateLength() {
    return optimizer.map(Optimizer::stateLength).orElse(0);
  }

  /** Returns a copy of the optimizer's state. */
  float[] state() {
    float[] state = new float[stateLength()];
    readState(FloatBuffer.wrap(state));
    return state;
  }

  /** Copies the optimizer's state to a buffer with room for {@link #stateLength()} elements. */
  FloatBuffer readState(FloatBuffer destination) {
    if (stateLength() > 0) {
      optimizer.orElseThrow().readState(destination);
    }
    return destination;
  }

  void restore(float[] state) {
    if (state.length > 0) {
      optimizer.orElseThrow().writeState(FloatBuffer.wrap(state));
    }
  }
}
