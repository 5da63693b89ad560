package io.vertigrad.engine.pytorch;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * The exchange vector of a module whose tensors Java cannot read directly, as on a GPU. One flat
 * tensor on the device holds all parameters and statistics, another one their gradients; the
 * module's tensors become views of them. Each flat tensor is copied from or to the buffer in Java
 * in one transfer.
 */
final class FlatCopies implements AutoCloseable {

  /** The part of Java's buffer that has not been copied to the module yet. */
  private enum Outdated {
    NOTHING,
    STATISTICS,
    ALL
  }

  private final Pair all;
  private final Pair statistics;
  private final Pair gradients;
  private Outdated outdated = Outdated.NOTHING;

  /** A buffer of Java as a tensor, and the tensor on the module's device. */
  private record Pair(Tensor here, Tensor there) {

    /** Creates a tensor of zeros on the device. */
    static Pair of(ByteBuffer buffer, Place place) {
      Tensor here = TensorBuffers.floats(buffer);
      Tensor there = torch.zeros(new long[] {here.numel()}, new TensorOptions(place.device()));
      return new Pair(here.retainReference(), there.retainReference());
    }

    /** Returns the elements from {@code first} on, or null if there are none. */
    Pair from(int first) {
      long length = here.numel() - first;
      return length == 0
          ? null
          : new Pair(
              here.narrow(0, first, length).retainReference(),
              there.narrow(0, first, length).retainReference());
    }

    void push() {
      there.copy_(here);
    }

    void pull() {
      here.copy_(there);
    }
  }

  /**
   * Creates two tensors of zeros.
   *
   * @param place of the module's tensors
   * @param parameters Java's buffer, trainable elements first
   * @param gradients Java's buffer of the same length
   * @param trainable number of trainable elements
   */
  @SuppressWarnings("try")
  FlatCopies(Place place, ByteBuffer parameters, ByteBuffer gradients, int trainable) {
    try (PointerScope temporary = new PointerScope()) {
      this.all = Pair.of(parameters, place);
      this.statistics = all.from(trainable);
      this.gradients = Pair.of(gradients, place);
    }
  }

  /** Makes a parameter or statistic a view of the flat tensor and keeps its values. */
  void adopt(Tensor tensor, int start) {
    Tensor view = view(all.there(), tensor, start);
    view.copy_(tensor);
    tensor.set_data(view);
  }

  /** Makes the gradient of a parameter a view of the flat tensor. */
  void adoptGradient(Tensor parameter, int start) {
    parameter.mutable_grad().put(view(gradients.there(), parameter, start));
  }

  private static Tensor view(Tensor flat, Tensor tensor, int start) {
    return flat.narrow(0, start, tensor.numel()).view(tensor.shape());
  }

  /** Copies the module's initial values to Java's buffer. */
  void readInitialValues() {
    all.pull();
  }

  /** Records that Java's buffer was written. */
  void markWritten() {
    outdated = Outdated.ALL;
  }

  /** Copies what was written to the device, before a pass. */
  void push() {
    Pair changed =
        switch (outdated) {
          case ALL -> all;
          case STATISTICS -> statistics;
          case NOTHING -> null;
        };
    if (changed != null) {
      changed.push();
    }
    outdated = Outdated.NOTHING;
  }

  /** Clears the gradients before a backward pass, which adds to them. */
  void clearGradients() {
    gradients.there().zero_();
  }

  /** Copies gradients and statistics to Java's buffers after a backward pass. */
  void pull() {
    gradients.pull();
    if (statistics != null) {
      statistics.pull();
    }
  }

  /** Records that Java's statistics replace those of the module. */
  void markStatisticsWritten() {
    if (statistics != null && outdated == Outdated.NOTHING) {
      outdated = Outdated.STATISTICS;
    }
  }

  @Override
  public void close() {
    for (Pair pair : Arrays.asList(statistics, gradients, all)) {
      if (pair != null) {
        pair.here().close();
        pair.there().close();
      }
    }
  }
}
