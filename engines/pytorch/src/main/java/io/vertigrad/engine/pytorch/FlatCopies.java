package io.vertigrad.engine.pytorch;

import ai.djl.Device;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.engine.PtNDManager;
import ai.djl.pytorch.jni.JniUtils;
import java.nio.ByteBuffer;

/**
 * The exchange vector of a module whose tensors Java cannot reach, as on a GPU: one flat tensor
 * there holds all parameters and statistics, another their gradients, and the module's tensors
 * become views of them. Each is copied from or to the buffer in Java as a whole, in one transfer.
 */
final class FlatCopies {

  /** What the module does not have yet of what was written. */
  private enum Behind {
    NOTHING,
    STATISTICS,
    ALL
  }

  private final TensorFunction copy;
  private final TensorFunction replace;
  private final Pair all;
  private final Pair statistics;
  private final Pair gradients;
  private final PtNDArray zero;
  private Behind behind = Behind.NOTHING;

  /** A buffer of Java as a tensor, and the tensor where the module computes. */
  private record Pair(PtNDArray here, PtNDArray there) {

    /** Elements from {@code first} on, or null where there are none. */
    Pair from(int first) {
      long length = here.size();
      return first == length
          ? null
          : new Pair(
              JniUtils.slice(here, 0, first, length, 1),
              JniUtils.slice(there, 0, first, length, 1));
    }
  }

  /**
   * Two tensors of zeros, which live as long as the module.
   *
   * @param owner of the module's tensors
   * @param parameters Java's buffer, trainable elements first
   * @param gradients as long
   * @param trainable how many elements are trainable
   */
  FlatCopies(PtNDManager owner, ByteBuffer parameters, ByteBuffer gradients, int trainable) {
    PtNDManager here = owner.newSubManager(Device.cpu());
    this.copy = TensorFunction.copy(here);
    this.replace = TensorFunction.replace(here);
    this.all = pair(owner, here, parameters);
    this.statistics = all.from(trainable);
    this.gradients = pair(owner, here, gradients);
    this.zero = (PtNDArray) owner.zeros(new Shape(1), DataType.FLOAT32);
  }

  private static Pair pair(PtNDManager there, PtNDManager here, ByteBuffer buffer) {
    Shape shape = new Shape(buffer.capacity() / Float.BYTES);
    return new Pair(
        here.create(buffer, shape, DataType.FLOAT32),
        (PtNDArray) there.zeros(shape, DataType.FLOAT32));
  }

  /** Makes a parameter or statistic a view of the flat tensor; its values go along. */
  void adopt(PtNDArray tensor, int start) {
    adopt(all.there(), tensor, start);
  }

  /** The same for a gradient. */
  void adoptGradient(PtNDArray gradient, int start) {
    adopt(gradients.there(), gradient, start);
  }

  private void adopt(PtNDArray flat, PtNDArray tensor, int start) {
    try (PtNDArray run = JniUtils.slice(flat, 0, start, start + tensor.size(), 1);
        PtNDArray view = JniUtils.reshape(run, tensor.getShape().getShape())) {
      copy.apply(view, tensor);
      replace.apply(tensor, view);
    }
  }

  /** Fills Java's buffer with what the module began with. */
  void begun() {
    copy.apply(all.here(), all.there());
  }

  /** Says that Java's buffer was written. */
  void written() {
    behind = Behind.ALL;
  }

  /** Before a pass: the module computes with what was written. */
  void push() {
    Pair changed =
        switch (behind) {
          case ALL -> all;
          case STATISTICS -> statistics;
          case NOTHING -> null;
        };
    if (changed != null) {
      copy.apply(changed.there(), changed.here());
    }
    behind = Behind.NOTHING;
  }

  /** Before a backward pass, which adds to the gradients. */
  void clearGradients() {
    copy.apply(gradients.there(), zero);
  }

  /** After a backward pass: gradients and what became of the statistics are in Java's buffers. */
  void pull() {
    copy.apply(gradients.here(), gradients.there());
    if (statistics != null) {
      copy.apply(statistics.here(), statistics.there());
    }
  }

  /** Says that Java's statistics hold, not what the module has made of its own. */
  void statisticsMoved() {
    if (statistics != null && behind == Behind.NOTHING) {
      behind = Behind.STATISTICS;
    }
  }
}
