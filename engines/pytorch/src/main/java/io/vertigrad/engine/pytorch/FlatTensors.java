package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.GradientListener;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.optimizer.DeviceUpdateRule;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A module's tensors in the layout of its exchange vector: one direct buffer holds all parameters
 * and statistics, another one their gradients. Exchanged values are read from and written to these
 * buffers without calls to libtorch.
 *
 * <p>On the processor the module's tensors become views of these buffers. On other devices they are
 * views of equal tensors there, and {@link FlatCopies} copies between the two.
 */
final class FlatTensors implements AutoCloseable {

  /** A tensor of the module and its block in the layout. */
  record Bound(Block block, Tensor tensor) {}

  private static final float[] ZEROS = new float[8192];

  /** Least number of elements that are copied together during a backward pass: 1 MiB. */
  private static final int PART = 1 << 18;

  private final ParameterLayout layout;
  private final ByteBuffer parameterBytes;
  private final ByteBuffer gradientBytes;
  private final FloatBuffer parameters;
  private final FloatBuffer gradients;
  private final float[] statistics;
  private final List<Tensor> trained = new ArrayList<>();
  private final List<TensorRule> rules = new ArrayList<>();
  private final Place place;

  /** Null if the tensors are views of the buffers themselves. */
  private final FlatCopies copies;

  /** Null before a pass is overlapped. */
  private FinalGradients finalGradients;

  /**
   * Moves the tensors of a module into one buffer.
   *
   * @param bound every tensor once, of float32; the layout puts trainable ones first
   * @throws IllegalArgumentException when they are larger than one buffer
   */
  FlatTensors(TorchModule module, List<Bound> bound) {
    layout = new ParameterLayout(bound.stream().map(Bound::block).toList());
    int length;
    int bytes;
    try {
      length = layout.length();
      bytes = Math.multiplyExact(length, Float.BYTES);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException("its parameters take 2 GiB or more, expected less", e);
    }
    place = module.place();
    copies = place.isShared() ? null : new FlatCopies(place, length, layout.trainable());
    parameterBytes = copies == null ? memory(bytes) : copies.parameterBytes();
    gradientBytes = copies == null ? memory(bytes) : copies.gradientBytes();
    parameters = parameterBytes.asFloatBuffer();
    gradients = gradientBytes.asFloatBuffer();
    statistics = new float[copies == null ? layout.statistics() : 0];
    try {
      moveAll(bound);
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private void moveAll(List<Bound> bound) {
    int start = 0;
    for (Block.Kind kind : List.of(Block.Kind.TRAINABLE, Block.Kind.STATISTIC)) {
      for (Bound one : bound) {
        if (one.block().kind() == kind) {
          move(one, start);
          start += one.block().length();
        }
      }
    }
    if (copies != null) {
      copies.markStepped();
    }
  }

  private static ByteBuffer memory(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  /**
   * Returns the tensors of a network, in its order and with its names, which are the same in every
   * engine.
   */
  static FlatTensors of(TorchModule module, Network network) {
    Map<String, Tensor> found = module.tensors();
    return new FlatTensors(
        module,
        network.arrays().stream()
            .map(array -> new Bound(array.block(), found.get(array.attribute())))
            .toList());
  }

  /**
   * Makes a tensor of the module, and the gradient of a trainable one, views of the flat buffers.
   * The backward pass adds to a gradient that exists.
   */
  @SuppressWarnings("try")
  private void move(Bound one, int start) {
    int length = one.block().length();
    if (length == 0) {
      return;
    }
    boolean trainable = one.block().kind() == Block.Kind.TRAINABLE;
    Tensor tensor = one.tensor();
    try (PointerScope temporary = new PointerScope()) {
      if (copies == null) {
        Tensor view = view(parameterBytes, start, tensor);
        view.copy_(tensor);
        tensor.set_data(view);
        if (trainable) {
          tensor.mutable_grad().put(view(gradientBytes, start, tensor));
        }
      } else {
        copies.adopt(tensor, start);
        if (trainable) {
          copies.adoptGradient(tensor, start);
        }
      }
    }
    if (trainable) {
      trained.add(tensor);
    }
  }

  private static Tensor view(ByteBuffer bytes, int start, Tensor shaped) {
    int length = Math.toIntExact(shaped.numel());
    return TensorBuffers.tensor(slice(bytes, start, length), ScalarType.Float, shaped.shape());
  }

  /** Returns the tensors without those that have the address of an earlier one. */
  static List<TorchModule.Named> distinct(List<TorchModule.Named> tensors) {
    Set<Long> seen = new HashSet<>();
    return tensors.stream()
        .filter(one -> one.tensor().numel() == 0 || seen.add(one.tensor().data_ptr().address()))
        .toList();
  }

  ParameterLayout layout() {
    return layout;
  }

  /** Copies parameters and statistics out, as {@link io.vertigrad.compute.Model} specifies. */
  void readParameters(int first, FloatBuffer destination) {
    if (copies != null) {
      copies.pull();
    }
    destination.put(range(parameters, first, destination.remaining()));
  }

  /** Copies parameters and statistics in. */
  void writeParameters(int first, FloatBuffer source) {
    FloatBuffer written = range(parameters, first, source.remaining());
    if (copies != null) {
      copies.beginWriting(written.capacity() == parameters.capacity());
    }
    written.put(source);
    if (copies != null) {
      copies.markWritten();
    }
  }

  /** Copies the gradients out. */
  void readGradient(int first, FloatBuffer destination) {
    FloatBuffer source = range(gradients, first, destination.remaining());
    if (copies != null) {
      copies.pullGradients(first, first + source.capacity());
    }
    destination.put(source);
  }

  /** Returns the gradients of parameters and statistics in exchange order, at position 0. */
  FloatBuffer gradients() {
    if (copies != null) {
      copies.pullGradients(0, gradients.capacity());
    }
    return gradients.duplicate();
  }

  /**
   * Creates the rule of an optimizer on the device, which lives as long as the module; empty if
   * Java takes its steps.
   */
  Optional<DeviceUpdateRule> deviceRule(OptimizerConfig config) {
    if (copies == null || !TensorRule.knows(config.name())) {
      return Optional.empty();
    }
    TensorRule rule = new TensorRule(config, copies, place, layout);
    rules.add(rule);
    return Optional.of(rule);
  }

  /** Prepares a forward pass in inference mode: copies what was written to the module. */
  void beginInference() {
    // The statistics of a batch norm that was traced in training mode change even in inference
    // mode.
    if (copies != null) {
      copies.begin();
    }
  }

  /**
   * Prepares a forward pass in training mode: saves the statistics for {@link #restoreStatistics}.
   */
  void beginForward() {
    if (copies == null) {
      parameters.get(layout.trainable(), statistics);
    } else {
      copies.begin();
    }
  }

  /** Prepares a forward and a backward pass: clears the gradients and saves the statistics. */
  void begin() {
    if (copies == null) {
      FloatBuffer all = gradients.duplicate();
      while (all.hasRemaining()) {
        all.put(ZEROS, 0, Math.min(ZEROS.length, all.remaining()));
      }
    } else {
      copies.clearGradients();
    }
    beginForward();
  }

  /**
   * Ends a forward and a backward pass. The gradients can be read, the statistics have their values
   * from before the pass, and their change is stored as the difference to subtract.
   */
  void end() {
    if (copies != null) {
      copies.end();
      return;
    }
    int first = layout.trainable();
    for (int i = 0; i < statistics.length; i++) {
      float moved = parameters.get(first + i);
      // Equal values may both be infinite, whose difference is NaN.
      gradients.put(first + i, moved == statistics[i] ? 0 : statistics[i] - moved);
    }
    restoreStatistics();
  }

  /** Restores the statistics after a pass that failed or was forward only. */
  void restoreStatistics() {
    if (copies == null) {
      parameters.put(layout.trainable(), statistics);
    } else {
      copies.restoreStatistics();
    }
  }

  /**
   * Runs a backward pass and reports its final parts. On another device than the processor, parts
   * are copied while the pass runs and reported when the pass has been started and they are there.
   */
  void overlap(Runnable backward, GradientListener listener) {
    if (finalGradients == null) {
      finalGradients = new FinalGradients(trained, starts(), place.isGpu());
    }
    if (copies == null) {
      finalGradients.during(backward, listener::ready);
      return;
    }
    List<Integer> parts = new ArrayList<>();
    try {
      finalGradients.during(
          backward,
          first -> {
            int end = parts.isEmpty() ? layout.trainable() : parts.get(parts.size() - 1);
            if (end - first >= PART) {
              copies.startPart(parts.size(), first, end);
              parts.add(first);
            }
          });
      for (int i = 0; i < parts.size(); i++) {
        copies.awaitPart(i, parts.get(i));
        listener.ready(parts.get(i));
      }
    } finally {
      // After a failure, a part that is still copied would overwrite gradients that Java writes.
      for (int i = 0; i < parts.size(); i++) {
        copies.awaitPart(i, parts.get(i));
      }
    }
  }

  /** Returns the first element of each trainable tensor. */
  private int[] starts() {
    int[] starts = new int[trained.size()];
    for (int i = 1; i < starts.length; i++) {
      starts[i] = starts[i - 1] + Math.toIntExact(trained.get(i - 1).numel());
    }
    return starts;
  }

  @Override
  public void close() {
    if (finalGradients != null) {
      finalGradients.close();
    }
    rules.forEach(TensorRule::close);
    if (copies != null) {
      copies.close();
    }
  }

  /** Returns elements {@code [first, first + count)} of one of the two vectors. */
  private static FloatBuffer range(FloatBuffer vector, int first, int count) {
    if (first < 0 || first + (long) count > vector.capacity()) {
      throw new IndexOutOfBoundsException(
          "elements %s to %s: expected within 0 to %s"
              .formatted(first, first + (long) count, vector.capacity()));
    }
    return vector.slice(first, count);
  }

  private static ByteBuffer slice(ByteBuffer bytes, int start, int length) {
    return bytes.slice(start * Float.BYTES, length * Float.BYTES).order(ByteOrder.nativeOrder());
  }
}
