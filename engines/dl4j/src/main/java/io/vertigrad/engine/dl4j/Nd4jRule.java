package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.nio.FloatBuffer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.GradientUpdater;
import org.nd4j.linalg.learning.config.IUpdater;

/**
 * An update rule that one of ND4J's updaters computes. The updater keeps its state between updates.
 *
 * <p>The state starts at zero, as in PyTorch; ND4J would start some rules at epsilon.
 */
final class Nd4jRule implements UpdateRule {

  private final IUpdater config;
  private final GradientUpdater<?> updater;
  private final INDArray gradient;
  private final INDArray state;
  private final FloatBuffer gradientMemory;
  private final FloatBuffer stateMemory;
  private final int length;

  Nd4jRule(IUpdater config, int length) {
    this.config = config;
    this.length = length;
    long[] shape = {1, length};
    this.gradient = Nd4j.create(DataType.FLOAT, shape, 'c');
    this.state = Nd4j.create(DataType.FLOAT, new long[] {1, config.stateSize(length)}, 'c');
    this.gradientMemory = NativeFloats.of(gradient);
    this.stateMemory = NativeFloats.of(state);
    this.updater = config.instantiate(state, true);
    updater.setStateViewArray(state, shape, 'c', true);
    state.assign(0);
  }

  @Override
  public void toStep(float[] values, double learningRate, long iteration) {
    gradientMemory.put(0, values, 0, length);
    NativeFloats.written(gradient);
    config.setLrAndSchedule(learningRate, null);
    updater.applyUpdater(gradient, Math.toIntExact(iteration), 0);
    NativeFloats.fetch(gradient);
    gradientMemory.get(0, values, 0, length);
  }

  @Override
  public int stateLength() {
    return stateMemory.capacity();
  }

  @Override
  public void readState(FloatBuffer destination) {
    NativeFloats.fetch(state);
    destination.put(stateMemory.duplicate());
  }

  @Override
  public void writeState(FloatBuffer source) {
    stateMemory.duplicate().put(source);
    NativeFloats.written(state);
  }
}
