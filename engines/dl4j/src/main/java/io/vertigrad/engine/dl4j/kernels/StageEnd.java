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
 * The end of a stage that others follow: puts out what comes in, and takes as its labels the
 * gradient of that, which it sends back as it is.
 */
public final class StageEnd extends LossLayer {

  private static final long serialVersionUID = 1L;

  /** In place of a stock layer. */
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

  /** The loss is another stage's. */
  @Override
  public double computeScore(double regularization, boolean training, LayerWorkspaceMgr memory) {
    return 0;
  }
}
