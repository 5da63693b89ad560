package io.vertigrad.engine.pytorch;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The exchange vector of a module whose tensors Java cannot read directly, as on a GPU. One flat
 * tensor on the device holds all parameters and statistics, another one their gradients; the
 * module's tensors become views of them. Java has a buffer for each, which is copied in one
 * transfer when it is needed: the parameters that Java wrote go to the device before a pass, and
 * what the device computed comes to Java when Java reads it.
 *
 * <p>One call at a time; each must happen before the next.
 */
final class FlatCopies implements AutoCloseable {

  /** The side that has the newer parameters and statistics. */
  private enum Newer {
    NEITHER,
    JAVA,
    DEVICE
  }

  private final Transfers transfers;
  private final int length;
  private final int trainable;
  private final Pair parameters;
  private final Pair gradients;

  /** The statistics that each pass begins with; null if there are none. */
  private final Tensor statistics;

  /** The module's own statistics, which a pass changes. */
  private final Tensor moving;

  private final Transfers.Mark pushed;
  private final Transfers.Mark pulled;
  private final List<Transfers.Mark> parts = new ArrayList<>();
  private Newer newer = Newer.DEVICE;
  private boolean statisticsMoved;
  private boolean gradientsPulled = true;
  private boolean closed;

  /** The gradients of the trainable elements from this one on were copied in parts. */
  private int copiedFrom;

  /** Memory of Java, and the tensor on the device. */
  private record Pair(Transfers.HostMemory here, Tensor there) implements AutoCloseable {

    /** Creates two vectors of zeros. */
    static Pair of(int length, Place place) {
      return new Pair(
          place.transfers().hostMemory(ScalarType.Float, length),
          torch.zeros(new long[] {length}, new TensorOptions(place.device())).retainReference());
    }

    @Override
    public void close() {
      here.close();
      there.close();
    }
  }

  /**
   * Creates parameters and gradients of zeros.
   *
   * @param place of the module's tensors
   * @param length number of elements
   * @param trainable number of trainable elements, which are the first ones
   */
  @SuppressWarnings("try")
  FlatCopies(Place place, int length, int trainable) {
    this.transfers = place.transfers();
    this.length = length;
    this.trainable = trainable;
    this.copiedFrom = trainable;
    this.pushed = transfers.new Mark(false);
    this.pulled = transfers.new Mark(false);
    try (PointerScope temporary = new PointerScope()) {
      this.parameters = Pair.of(length, place);
      this.gradients = Pair.of(length, place);
      boolean none = trainable == length;
      this.moving = none ? null : part(parameters.there(), trainable, length).retainReference();
      this.statistics = none ? null : moving.clone().retainReference();
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  /** Returns elements {@code [first, end)} of a flat tensor. */
  private static Tensor part(Tensor flat, int first, int end) {
    return flat.narrow(0, first, end - first);
  }

  /** Returns Java's parameters and statistics. */
  ByteBuffer parameterBytes() {
    return parameters.here().bytes();
  }

  /** Returns Java's gradients. */
  ByteBuffer gradientBytes() {
    return gradients.here().bytes();
  }

  /** Returns the parameters and statistics on the device. */
  Tensor parameters() {
    push();
    return parameters.there();
  }

  /**
   * Returns the gradients of the last pass on the device: of statistics, the difference to
   * subtract.
   */
  Tensor gradients() {
    return gradients.there();
  }

  /** Makes a parameter or statistic a view of the flat tensor and keeps its values. */
  void adopt(Tensor tensor, int start) {
    Tensor view = view(parameters.there(), tensor, start);
    view.copy_(tensor);
    tensor.set_data(view);
  }

  /** Makes the gradient of a parameter a view of the flat tensor. */
  void adoptGradient(Tensor parameter, int start) {
    Tensor view = view(gradients.there(), parameter, start);
    // As a variable of its own it has a version of its own, which FinalGradients watches.
    parameter.mutable_grad().put(view.variable_data());
  }

  private static Tensor view(Tensor flat, Tensor tensor, int start) {
    return flat.narrow(0, start, tensor.numel()).view(tensor.shape());
  }

  /** Prepares Java's parameters for being read. */
  void pull() {
    requireOpen();
    if (newer == Newer.DEVICE) {
      restoreStatistics();
      transfers.down(parameters.here().tensor(), parameters.there());
      pulled.set();
      pulled.await();
      newer = Newer.NEITHER;
    }
  }

  /**
   * Prepares Java's parameters for being written.
   *
   * @param all true if all of them will be
   */
  void beginWriting(boolean all) {
    requireOpen();
    if (!all) {
      pull();
    }
    // A copy to the device may still read them.
    pushed.await();
  }

  /** Records that Java's parameters were written. */
  void markWritten() {
    newer = Newer.JAVA;
  }

  /** Records that the device's parameters and statistics were written. */
  void markStepped() {
    newer = Newer.DEVICE;
    saveStatistics();
  }

  /** Brings parameters and statistics on the device up to date, before a pass. */
  void push() {
    if (newer == Newer.JAVA) {
      transfers.up(parameters.there(), parameters.here().tensor());
      pushed.set();
      newer = Newer.NEITHER;
      saveStatistics();
    } else {
      restoreStatistics();
    }
  }

  private void saveStatistics() {
    if (statistics != null) {
      statistics.copy_(moving);
    }
    statisticsMoved = false;
  }

  /** Begins a pass, which may change the module's statistics. */
  void begin() {
    push();
    statisticsMoved = true;
  }

  /** Gives the module the statistics back that it had before a pass. */
  void restoreStatistics() {
    if (statisticsMoved && statistics != null) {
      moving.copy_(statistics);
    }
    statisticsMoved = false;
  }

  /** Clears the gradients before a backward pass, which adds to them. */
  void clearGradients() {
    gradients.there().zero_();
    gradientsPulled = false;
    copiedFrom = trainable;
  }

  /** Ends a forward and a backward pass: the statistics' changes become their gradients. */
  @SuppressWarnings("try")
  void end() {
    if (statistics != null) {
      try (PointerScope temporary = new PointerScope()) {
        Tensor change = part(gradients.there(), trainable, length);
        torch.sub_out(change, statistics, moving);
        // Equal values may both be infinite, whose difference is NaN.
        change.masked_fill_(moving.eq(statistics), new Scalar(0f));
      }
    }
    restoreStatistics();
  }

  /** Replaces the gradients on the device by values from Java: the first ones of an array. */
  void writeGradients(float[] values) {
    // A copy to the device may still read them.
    pushed.await();
    gradientBytes().asFloatBuffer().put(values, 0, length);
    transfers.up(gradients.there(), gradients.here().tensor());
    pushed.set();
    gradientsPulled = true;
  }

  /**
   * Starts to copy gradients of trainable elements during a backward pass; any thread.
   *
   * @param number of the part in this pass, from 0
   */
  @SuppressWarnings("try")
  void startPart(int number, int first, int end) {
    try (PointerScope temporary = new PointerScope()) {
      pullPart(first, end);
    }
    if (parts.size() == number) {
      parts.add(transfers.new Mark(true));
    }
    parts.get(number).set();
  }

  /** Waits for a part, which begins with this element. The parts before it have been awaited. */
  void awaitPart(int number, int first) {
    parts.get(number).await();
    copiedFrom = first;
  }

  /** Prepares elements {@code [first, end)} of Java's gradients for being read. */
  @SuppressWarnings("try")
  void pullGradients(int first, int end) {
    requireOpen();
    if (gradientsPulled || first >= copiedFrom && end <= trainable) {
      return;
    }
    try (PointerScope temporary = new PointerScope()) {
      if (copiedFrom == trainable) {
        transfers.down(gradients.here().tensor(), gradients.there());
      } else {
        pullPart(0, copiedFrom);
        pullPart(trainable, length);
      }
    }
    pulled.set();
    pulled.await();
    gradientsPulled = true;
  }

  private void pullPart(int first, int end) {
    if (first < end) {
      transfers.down(
          part(gradients.here().tensor(), first, end), part(gradients.there(), first, end));
    }
  }

  /** Java's buffers are not readable after the memory behind them has been given back. */
  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException("the model is closed");
    }
  }

  @Override
  public void close() {
    closed = true;
    // A constructor that failed has left the last ones out.
    Stream.of(parameters, gradients).filter(Objects::nonNull).forEach(Pair::close);
    Stream.of(moving, statistics).filter(Objects::nonNull).forEach(Tensor::close);
    pushed.close();
    pulled.close();
    parts.forEach(Transfers.Mark::close);
  }
}
