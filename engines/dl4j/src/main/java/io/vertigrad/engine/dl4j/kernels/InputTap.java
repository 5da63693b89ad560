package io.vertigrad.engine.dl4j.kernels;

import java.nio.FloatBuffer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.ActivationLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** A layer that passes its input through and keeps a copy of the gradient that it receives. */
public final class InputTap extends ActivationLayer {

  private static final long serialVersionUID = 1L;

  private transient FloatBuffer gradient = FloatBuffer.allocate(0);

  /** Creates a replacement for a stock layer. */
  public InputTap(Layer stock) {
    super(stock.conf(), DataType.FLOAT);
  }

  /**
   * Returns the gradient of the last backward pass, sample after sample; valid until the next pass.
   */
  public FloatBuffer inputGradient() {
    return gradient.duplicate();
  }

  @Override
  public INDArray activate(boolean training, LayerWorkspaceMgr memory) {
    return memory.dup(ArrayType.ACTIVATIONS, input);
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    INDArray rows = NativeFloats.rows(epsilon);
    int length = Math.toIntExact(rows.length());
    if (gradient.capacity() < length) {
      gradient = FloatBuffer.allocate(length);
    }
    gradient.clear();
    NativeFloats.fetch(rows);
    gradient.put(NativeFloats.of(rows)).flip();
    return new Pair<>(new DefaultGradient(), memory.dup(ArrayType.ACTIVATION_GRAD, epsilon));
  }
}
