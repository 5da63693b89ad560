package io.vertigrad.engine.dl4j.kernels;

import java.nio.FloatBuffer;
import org.deeplearning4j.nn.gradient.Gradient;
import org.deeplearning4j.nn.graph.vertex.GraphVertex;
import org.deeplearning4j.nn.graph.vertex.impl.ElementWiseVertex;
import org.deeplearning4j.nn.workspace.ArrayType;
import org.deeplearning4j.nn.workspace.LayerWorkspaceMgr;
import org.nd4j.common.primitives.Pair;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * Computes {@code y = max(a + b, 0)} in one pass over memory: a residual block's sum together with
 * the ReLU that follows it. The gradient that it receives is that of {@code a + b}.
 */
@SuppressWarnings(
    "overrides") // a stock class overrides a varargs method; javac warns in every subclass
final class RectifiedSum extends ElementWiseVertex {

  private static final long serialVersionUID = 1L;

  private final transient Scratch scratch;

  /**
   * Replaces a stock vertex that adds and whose only consumer is a ReLU that skips its forward
   * pass.
   */
  RectifiedSum(GraphVertex stock, Scratch scratch) {
    super(
        ((ElementWiseVertex) stock).getGraph(),
        stock.getVertexName(),
        stock.getVertexIndex(),
        stock.getInputVertices(),
        stock.getOutputVertices(),
        Op.Add,
        DataType.FLOAT);
    this.scratch = scratch;
  }

  @Override
  public INDArray doForward(boolean training, LayerWorkspaceMgr memory) {
    if (!isPlain()) {
      return Transforms.relu(super.doForward(training, memory), false);
    }
    ImageLayout layout = ImageLayout.of(getInputs()[0]);
    INDArray a = layout.arrange(getInputs()[0]);
    INDArray b = layout.arrange(getInputs()[1]);
    INDArray y = layout.create(memory, ArrayType.ACTIVATIONS, a.shape());
    add(NativeFloats.of(a), NativeFloats.of(b), NativeFloats.of(y));
    return y;
  }

  @Override
  public Pair<Gradient, INDArray[]> doBackward(boolean truncated, LayerWorkspaceMgr memory) {
    if (!isPlain()) {
      return super.doBackward(truncated, memory);
    }
    ImageLayout layout = ImageLayout.of(getEpsilon());
    INDArray[] gradients = {
      layout.copy(memory, ArrayType.ACTIVATION_GRAD, getEpsilon()),
      layout.copy(memory, ArrayType.ACTIVATION_GRAD, getEpsilon())
    };
    return new Pair<>(null, gradients);
  }

  private boolean isPlain() {
    INDArray[] in = getInputs();
    return in.length == 2 && in[0].equalShapes(in[1]);
  }

  private void add(FloatBuffer a, FloatBuffer b, FloatBuffer y) {
    float[] sum = scratch.floats(0, Scratch.TILE);
    float[] tile = scratch.floats(1, Scratch.TILE);
    for (int first = 0; first < y.capacity(); first += Scratch.TILE) {
      int count = Math.min(Scratch.TILE, y.capacity() - first);
      a.get(first, sum, 0, count);
      b.get(first, tile, 0, count);
      Loops.add(sum, tile, count);
      Loops.rectify(sum, count);
      y.put(first, sum, 0, count);
    }
  }
}
