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
 * An activation and a loss without weights. Its backward pass does not change its input.
 *
 * <p>In the stock layer, some activations such as the sigmoid overwrite the input scores with the
 * gradient, and DL4J then computes the loss from the overwritten values.
 */
final class StandaloneLoss extends LossLayer {

  private static final long serialVersionUID = 1L;

  private StandaloneLoss(Layer stock) {
    super(stock.conf(), DataType.FLOAT);
  }

  /** Returns the replacement of a stock layer, or null for any other layer. */
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
