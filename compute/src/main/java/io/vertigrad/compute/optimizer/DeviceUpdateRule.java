package io.vertigrad.compute.optimizer;

import java.nio.FloatBuffer;

/**
 * Updates the parameters of one model on the device where the model computes; owns the rule's state
 * there. It computes what {@link Optimizer} does with an {@link UpdateRule}, including decay.
 *
 * <p>Calls come from the model's thread, or from another one while the model's thread waits for it.
 * The caller makes sure that each call happens before the next.
 */
public interface DeviceUpdateRule {

  /**
   * Applies one update with the model's last gradient, which is clipped to the norm that the
   * optimizer names. If the gradient then holds NaN, or an element of a magnitude above {@code
   * maxMagnitude}, neither parameters nor state change.
   *
   * @param learningRate for this update
   * @param iteration number of updates applied before this one, from 0
   * @param maxMagnitude largest element of a gradient that is applied, finite
   * @return true when the update was applied
   */
  boolean step(double learningRate, long iteration, float maxMagnitude);

  /**
   * Applies one update with a gradient from Java, which is neither clipped nor checked. It gives
   * the same bits as {@link Optimizer} in Java, so that replicas with the same gradient stay equal
   * wherever they compute. The model's last gradient is undefined afterwards.
   *
   * @param gradient at least as many elements as the model's vector; the first ones are used
   * @param learningRate for this update
   * @param iteration number of updates applied before this one, from 0
   */
  void step(float[] gradient, double learningRate, long iteration);

  /**
   * Returns the number of elements of state, in the order of the {@link UpdateRule} of the same
   * name; 0 for plain SGD.
   *
   * @return a number of elements
   */
  int stateLength();

  /**
   * Copies the state out.
   *
   * @param destination has room for {@link #stateLength()} values
   */
  void readState(FloatBuffer destination);

  /**
   * Copies the state in.
   *
   * @param source has {@link #stateLength()} values
   */
  void writeState(FloatBuffer source);
}
