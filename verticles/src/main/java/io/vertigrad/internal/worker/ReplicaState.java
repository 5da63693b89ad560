package io.vertigrad.internal.worker;

import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import io.vertigrad.internal.checkpoint.PartitionCopy;
import io.vertigrad.internal.checkpoint.PartitionHead;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.strategy.Replica;
import java.nio.FloatBuffer;
import java.util.Collection;
import java.util.List;

/**
 * A replica and its optimizers as one checkpoint holds them: the parameters, then the state of the
 * optimizers, the strategy's memory and the exact number of samples.
 */
public final class ReplicaState {

  /** A checkpoint's arrays are float32, so a double's bits are stored as four 16-bit integers. */
  private static final int SAMPLES = 4;

  private static final int SHORT = 16;

  private ReplicaState() {}

  /**
   * Returns a source of everything that is needed to continue from the state at the time of
   * copying.
   *
   * @param optimizers the optimizers in use
   * @param memory the strategy's memory; must not change
   * @param into memory for the copy
   */
  public static PartitionCopy.Source of(
      Replica vector, Collection<Optimizer> optimizers, float[] memory, CopyMemory into) {
    return new ReplicaCopy(vector, optimizers, memory, into);
  }

  private static final class ReplicaCopy implements PartitionCopy.Source {

    private final Replica vector;
    private final Collection<Optimizer> optimizers;
    private final float[] memory;
    private final CopyMemory into;
    private PartitionHead head;
    private FloatBuffer parameters;
    private FloatBuffer state;

    ReplicaCopy(Replica vector, Collection<Optimizer> optimizers, float[] memory, CopyMemory into) {
      this.vector = vector;
      this.optimizers = optimizers;
      this.memory = memory;
      this.into = into;
    }

    @Override
    public void copy() {
      head =
          new PartitionHead(
              0,
              0,
              vector.updates(),
              Math.round(vector.samples()),
              List.of(),
              LedgerSnapshot.EMPTY);
      parameters = into.take(vector.length()).put(vector.parameters()).flip();
      state = into.take(length(optimizers) + memory.length + SAMPLES);
      for (Optimizer optimizer : optimizers) {
        optimizer.readState(state);
      }
      state.put(memory);
      long bits = Double.doubleToRawLongBits(vector.samples());
      for (int i = 0; i < SAMPLES; i++) {
        state.put(bits >>> i * SHORT & 0xffff);
      }
      state.flip();
    }

    @Override
    public PartitionHead head() {
      return head;
    }

    @Override
    public FloatBuffer parameters() {
      return parameters;
    }

    @Override
    public FloatBuffer state() {
      return state;
    }

    @Override
    public void release() {
      into.giveBack(parameters);
      into.giveBack(state);
    }
  }

  /**
   * Restores a replica and its optimizers from a checkpoint.
   *
   * @param name the worker's name for messages
   * @return the strategy's memory
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
    vector.setParameters(from.parameters().clone());
    vector.resume(from.version(), Double.longBitsToDouble(bits));
    return memory;
  }

  private static int length(Collection<Optimizer> optimizers) {
    return optimizers.stream().mapToInt(Optimizer::stateLength).sum();
  }
}
