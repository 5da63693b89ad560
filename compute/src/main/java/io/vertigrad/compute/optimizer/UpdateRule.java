package io.vertigrad.compute.optimizer;

import java.nio.FloatBuffer;

/** Turns a gradient into the step to subtract from the parameters; owns the rule's state. */
public interface UpdateRule {

  /**
   * Replaces the gradient by the step, in place, and advances the state.
   *
   * @param gradient one partition's reduced gradient; its first elements, as many as at creation,
   *     are stepped, any after them are left alone
   * @param learningRate for this update
   * @param iteration updates applied before this one, from 0 (Adam's bias correction)
   */
  void toStep(float[] gradient, double learningRate, long iteration);

  /**
   * Elements of state; 0 for plain SGD.
   *
   * @return a number of elements
   */
  int stateLength();

  /**
   * Copies the state out, for a checkpoint.
   *
   * @param destination has room for {@link #stateLength()} values
   */
  void readState(FloatBuffer destination);

  /**
   * Copies the state in, from a checkpoint.
   *
   * @param source has {@link #stateLength()} values
   */
  void writeState(FloatBuffer source);
}
