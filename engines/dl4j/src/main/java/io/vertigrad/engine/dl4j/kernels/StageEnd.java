package io.vertigrad.engine.dl4j.kernels;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.LossLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * The last layer of a stage that other stages follow. Its output is its input; its labels are the
 * gradient of the output, which it passes back unchanged.
 */
public final class StageEnd extends LossLayer {

  private static final long serialVersionUID = 1L;

  /** Creates a replacement for a stock layer. */
  public StageEnd(Layer stock) {
    super(stock.conf(), DataType.FLOAT);
  }

  @Override
  public INDArray activate(boolean training, LayerWorkspaceMgr memory) {
    return memory.dup(ArrayType.ACTIVATIONS, input);
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    return new Pair<>(new DefaultGradient(), memory.dup(ArrayType.ACTIVATION_GRAD, labels));
  }

  /** Returns 0, because the loss is computed by the last stage. */
  @Override
  public double computeScore(double regularization, boolean training, LayerWorkspaceMgr memory) {
    return 0;
  }
}
