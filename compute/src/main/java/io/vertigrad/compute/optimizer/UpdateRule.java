package io.vertigrad.compute.optimizer;

import java.nio.FloatBuffer;

/** Turns a gradient into the step to subtract from the parameters; owns the rule's state. */
public interface UpdateRule {

  /**
   * Replaces the gradient by the step, in place, and advances the state.
   *
   * @param gradient one partition's reduced gradient; the rule replaces as many elements as it was
   *     created for and leaves the rest unchanged
   * @param learningRate for this update
   * @param iteration number of updates applied before this one, from 0 (Adam's bias correction)
   */
  void toStep(float[] gradient, double learningRate, long iteration);

  /**
   * Subtracts the step of {@link #toStep} from the parameters: {@code p = p * kept - step}, with
   * one rounding for each product and one for the difference. An override processes each element
   * once and must give the same numbers.
   *
   * @param parameters of which the first {@code length} elements are updated
   * @param gradient as for {@link #toStep}; may be overwritten
   * @param learningRate for this update
   * @param iteration number of updates applied before this one, from 0
   * @param kept factor on the parameters, 1 without decoupled decay
   * @param length number of elements that the rule was created for
   */
  default void step(
      float[] parameters,
      float[] gradient,
      double learningRate,
      long iteration,
      float kept,
      int length) {
    toStep(gradient, learningRate, iteration);
    for (int i = 0; i < length; i++) {
      parameters[i] = parameters[i] * kept - gradient[i];
    }
  }

  /**
   * Returns the number of elements of state; 0 for plain SGD.
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
