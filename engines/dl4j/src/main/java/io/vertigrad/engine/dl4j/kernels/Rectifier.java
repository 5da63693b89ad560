package io.vertigrad.engine.dl4j.kernels;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import org.deeplearning4j.nn.api.Layer;
import org.deeplearning4j.nn.gradient.DefaultGradient;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.layers.ActivationLayer;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.activations.impl.ActivationReLU;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** ReLU as a layer: {@code y = max(x, 0)}, {@code dx = dy} where {@code x > 0}, else 0. */
final class Rectifier extends ActivationLayer {

  private static final long serialVersionUID = 1L;

  private final transient Scratch scratch;
  private transient boolean inputIsRectified;

  private Rectifier(Layer stock, Scratch scratch) {
    super(stock.conf(), DataType.FLOAT);
    this.scratch = scratch;
  }

  /**
   * Returns the replacement of a stock layer, or null if the stock layer computes something else.
   */
  static Rectifier of(Layer stock, Scratch scratch) {
    boolean same =
        stock.getClass() == ActivationLayer.class
            && stock.conf().getLayer()
                instanceof org.deeplearning4j.nn.conf.layers.ActivationLayer layer
            && layer.getActivationFn().getClass() == ActivationReLU.class
            && layer.getIDropout() == null
            && ((ActivationReLU) layer.getActivationFn()).equals(new ActivationReLU());
    return same ? new Rectifier(stock, scratch) : null;
  }

  /** Makes the layer skip its forward pass, because its input is rectified already. */
  void skipForward() {
    inputIsRectified = true;
  }

  @Override
  public INDArray activate(boolean training, LayerWorkspaceMgr memory) {
    if (inputIsRectified) {
      return memory.leverageTo(ArrayType.ACTIVATIONS, input);
    }
    ImageLayout layout = ImageLayout.of(input);
    INDArray x = layout.arrange(input);
    INDArray y = layout.create(memory, ArrayType.ACTIVATIONS, x.shape());
    FloatBuffer from = NativeFloats.of(x);
    FloatBuffer to = NativeFloats.of(y);
    float[] tile = scratch.floats(0, Scratch.TILE);
    for (int first = 0; first < from.capacity(); first += Scratch.TILE) {
      int count = Math.min(Scratch.TILE, from.capacity() - first);
      from.get(first, tile, 0, count);
      Loops.rectify(tile, count);
      to.put(first, tile, 0, count);
    }
    return y;
  }

  @Override
  public Pair<Gradient, INDArray> backpropGradient(INDArray dy, LayerWorkspaceMgr memory) {
    ImageLayout layout = ImageLayout.of(input);
    INDArray x = layout.arrange(input);
    INDArray dx = layout.create(memory, ArrayType.ACTIVATION_GRAD, x.shape());
    passWherePositive(x, layout.arrange(dy), dx);
    return new Pair<>(new DefaultGradient(), dx);
  }

  private void passWherePositive(INDArray x, INDArray dy, INDArray dx) {
    IntBuffer inputs = NativeFloats.bits(x);
    IntBuffer from = NativeFloats.bits(dy);
    IntBuffer to = NativeFloats.bits(dx);
    int[] sign = scratch.ints(0, Scratch.TILE);
    int[] tile = scratch.ints(1, Scratch.TILE);
    for (int first = 0; first < to.capacity(); first += Scratch.TILE) {
      int count = Math.min(Scratch.TILE, to.capacity() - first);
      inputs.get(first, sign, 0, count);
      from.get(first, tile, 0, count);
      keepWherePositive(tile, sign, count);
      to.put(first, tile, 0, count);
    }
  }

  /**
   * Clears every value whose partner is not a positive float. It compares the bits, because the
   * compiler does not vectorise a comparison of floats.
   */
  static void keepWherePositive(int[] values, int[] partners, int count) {
    for (int i = 0; i < count; i++) {
      values[i] &= (-partners[i] & ~partners[i]) >> 31;
    }
  }
}
