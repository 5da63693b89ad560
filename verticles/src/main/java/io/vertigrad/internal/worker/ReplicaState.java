package io.vertigrad.internal.worker;

import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.checkpoint.SavedState.Head;
import io.vertigrad.internal.checkpoint.SavedState.Part;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.Replica;
import java.util.ArrayList;
import java.util.List;

/** The state of a replica: parameters, optimizers, and what its strategy keeps. */
public final class ReplicaState {

  private ReplicaState() {}

  /**
   * Starts a copy of everything that is needed to continue from the present state.
   *
   * @param optimizers the optimizers in use
   * @param memory the strategy's memory; must not change
   * @param into memory for the copy
   */
  public static SavedState copy(
      Replica vector, List<Optimizer> optimizers, float[] memory, CopyMemory into) {
    Head head = new Head(vector.updates(), vector.samples());
    return SavedState.begin(head, parts(vector, optimizers, memory), into);
  }

  /**
   * Restores a replica and its optimizers from a checkpoint.
   *
   * @param name the worker's name for messages
   * @return the strategy's memory
   */
  public static float[] restore(
      String name, SavedState from, Replica vector, List<Optimizer> optimizers) {
    try {
      float[] memory = from.part(SavedState.MEMORY);
      from.restore(parts(vector, optimizers, memory));
      vector.resume(from.version(), from.head().samples());
      return memory;
    } catch (IllegalArgumentException other) {
      throw new ExchangeException(name + ": " + other.getMessage());
    }
  }

  /** A strategy takes its memory when it is told to restore, so the part itself is only read. */
  private static List<Part> parts(Replica vector, List<Optimizer> optimizers, float[] memory) {
    List<Part> parts = new ArrayList<>();
    parts.add(
        Part.of(
            SavedState.PARAMETERS,
            vector::length,
            to -> to.put(vector.parameters()),
            from -> {
              float[] parameters = new float[vector.length()];
              from.get(parameters);
              vector.setParameters(parameters);
            }));
    for (int i = 0; i < optimizers.size(); i++) {
      String name = i == 0 ? SavedState.OPTIMIZER : SavedState.OPTIMIZER + " " + i;
      parts.add(Part.of(name, optimizers.get(i)));
    }
    parts.add(Part.of(SavedState.MEMORY, () -> memory.length, to -> to.put(memory), from -> {}));
    return parts;
  }
}
