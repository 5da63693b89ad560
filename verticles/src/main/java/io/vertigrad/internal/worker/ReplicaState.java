package io.vertigrad.internal.worker;

import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.strategy.Replica;
import java.nio.FloatBuffer;
import java.util.Collection;
import java.util.List;

/**
 * A replica and its optimizers as one checkpoint holds them: parameters, then the optimizers'
 * state, what the strategy remembers, and the exact number of samples.
 */
public final class ReplicaState {

  /** A checkpoint's arrays are float32: a double's bits travel as four whole numbers of 16 bits. */
  private static final int SAMPLES = 4;

  private static final int SHORT = 16;

  private ReplicaState() {}

  /**
   * Copies everything that is needed to go on from here.
   *
   * @param memory what the strategy remembers; copied
   */
  public static PartitionSnapshot copy(
      Replica vector, Collection<Optimizer> optimizers, float[] memory) {
    int states = length(optimizers);
    float[] state = new float[states + memory.length + SAMPLES];
    int at = 0;
    for (Optimizer optimizer : optimizers) {
      optimizer.readState(FloatBuffer.wrap(state, at, optimizer.stateLength()));
      at += optimizer.stateLength();
    }
    System.arraycopy(memory, 0, state, at, memory.length);
    long bits = Double.doubleToRawLongBits(vector.samples());
    for (int i = 0; i < SAMPLES; i++) {
      state[at + memory.length + i] = bits >>> i * SHORT & 0xffff;
    }
    return new PartitionSnapshot(
        0,
        0,
        vector.updates(),
        Math.round(vector.samples()),
        vector.parameters().clone(),
        state,
        List.of());
  }

  /**
   * Goes back to a copy.
   *
   * @param name the worker, for people
   * @return what the strategy remembered
   */
  public static float[] restore(
      String name, PartitionSnapshot from, Replica vector, Collection<Optimizer> optimizers) {
    int states = length(optimizers);
    if (from.parameters().length != vector.length() || from.state().length < states + SAMPLES) {
      throw new ExchangeException(
          "%s: its checkpoint has %d parameters and %d of state, expected %d and at least %d"
              .formatted(
                  name,
                  from.parameters().length,
                  from.state().length,
                  vector.length(),
                  states + SAMPLES));
    }
    int at = 0;
    for (Optimizer optimizer : optimizers) {
      optimizer.writeState(FloatBuffer.wrap(from.state(), at, optimizer.stateLength()));
      at += optimizer.stateLength();
    }
    float[] memory = new float[from.state().length - states - SAMPLES];
    System.arraycopy(from.state(), at, memory, 0, memory.length);
    long bits = 0;
    for (int i = 0; i < SAMPLES; i++) {
      bits |= (long) from.state()[at + memory.length + i] << i * SHORT;
    }
    vector.become(from.parameters().clone());
    vector.resume(from.version(), Double.longBitsToDouble(bits));
    return memory;
  }

  private static int length(Collection<Optimizer> optimizers) {
    return optimizers.stream().mapToInt(Optimizer::stateLength).sum();
  }
}
