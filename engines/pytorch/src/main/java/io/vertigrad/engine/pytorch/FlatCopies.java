package io.vertigrad.engine.pytorch;

import ai.djl.Device;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.engine.PtNDManager;
import ai.djl.pytorch.jni.JniUtils;
import java.nio.ByteBuffer;

/**
 * The exchange vector of a module whose tensors Java cannot read directly, as on a GPU. One flat
 * tensor on the device holds all parameters and statistics, another one their gradients; the
 * module's tensors become views of them. Each flat tensor is copied from or to the buffer in Java
 * in one transfer.
 */
final class FlatCopies {

  /** The part of Java's buffer that has not been copied to the module yet. */
  private enum Outdated {
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
  private Outdated outdated = Outdated.NOTHING;

  /** A buffer of Java as a tensor, and the tensor on the module's device. */
  private record Pair(PtNDArray here, PtNDArray there) {

    /** Returns the elements from {@code first} on, or null if there are none. */
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
   * Creates two tensors of zeros that live as long as the module.
   *
   * @param owner of the module's tensors
   * @param parameters Java's buffer, trainable elements first
   * @param gradients Java's buffer of the same length
   * @param trainable number of trainable elements
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

  /** Makes a parameter or statistic a view of the flat tensor and keeps its values. */
  void adopt(PtNDArray tensor, int start) {
    adopt(all.there(), tensor, start);
  }

  /** Makes a gradient a view of the flat tensor and keeps its values. */
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

  /** Copies the module's initial values to Java's buffer. */
  void readInitialValues() {
    copy.apply(all.here(), all.there());
  }

  /** Records that Java's buffer was markWritten. */
  void markWritten() {
    outdated = Outdated.ALL;
  }

  /** Copies what was markWritten to the device, before a pass. */
  void push() {
    Pair changed =
        switch (outdated) {
          case ALL -> all;
          case STATISTICS -> statistics;
          case NOTHING -> null;
        };
    if (changed != null) {
      copy.apply(changed.there(), changed.here());
    }
    outdated = Outdated.NOTHING;
  }

  /** Clears the gradients before a backward pass, which adds to them. */
  void clearGradients() {
    copy.apply(gradients.there(), zero);
  }

  /** Copies gradients and statistics to Java's buffers after a backward pass. */
  void pull() {
    copy.apply(gradients.here(), gradients.there());
    if (statistics != null) {
      copy.apply(statistics.here(), statistics.there());
    }
  }

  /** Records that Java's statistics replace those of the module. */
  void markStatisticsWritten() {
    if (statistics != null && outdated == Outdated.NOTHING) {
      outdated = Outdated.STATISTICS;
    }
  }
}
