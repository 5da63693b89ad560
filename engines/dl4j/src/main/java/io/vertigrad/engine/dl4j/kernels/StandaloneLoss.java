package io.vertigrad.engine.dl4j.kernels;

import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.LossLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * An activation and a loss without weights whose backward pass leaves its input as it is.
 *
 * <p>Of the stock layer some activations, such as the sigmoid, write the gradient over the scores
 * that came in, and the loss, which DL4J asks for afterwards, is computed from that.
 */
final class StandaloneLoss extends LossLayer {

  private static final long serialVersionUID = 1L;

  private StandaloneLoss(Layer stock) {
    super(stock.conf(), DataType.FLOAT);
  }

  /** The replacement of a stock layer, or null if that one is another. */
  static StandaloneLoss of(Layer stock) {
    return stock.getClass() == LossLayer.class
        ? Replacement.adopt(new StandaloneLoss(stock), stock)
        : null;
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray epsilon, LayerWorkspaceMgr memory) {
    INDArray scores = input;
    input = memory.dup(ArrayType.BP_WORKING_MEM, scores);
    try {
      return super.backpropGradient(epsilon, memory);
    } finally {
      input = scores;
    }
  }
}
