package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Precision;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A network in native memory, and its tensors. Use it from one thread. */
abstract class TorchModule implements AutoCloseable {

  /** A tensor and its path in the module. It is the module's tensor, not a copy. */
  record Named(String name, Tensor tensor) {}

  private final String name;
  private final Place place;
  private final Precision precision;
  private final List<Named> parameters = new ArrayList<>();
  private final List<Named> buffers = new ArrayList<>();
  private final Map<String, Tensor> state = new HashMap<>();

  /**
   * Creates a module without tensors.
   *
   * @param name for messages
   * @param place of its tensors, which the module owns
   * @param precision of its passes
   */
  TorchModule(String name, Place place, Precision precision) {
    this.name = name;
    this.place = place;
    this.precision = precision;
  }

  /** Returns the place of the tensors. */
  final Place place() {
    return place;
  }

  /** Returns parameters and buffers by name. */
  final Map<String, Tensor> tensors() {
    if (state.isEmpty()) {
      parameters().forEach(one -> state.put(one.name(), one.tensor()));
      buffers().forEach(one -> state.put(one.name(), one.tensor()));
    }
    return state;
  }

  /**
   * Returns the parameters in module order, to which a subclass adds them when it is made; one that
   * two submodules share occurs twice.
   */
  final List<Named> parameters() {
    return parameters;
  }

  /** Returns the buffers in module order, of any type. */
  final List<Named> buffers() {
    return buffers;
  }

  /** Switches batch norm, dropout and similar layers between training and evaluation mode. */
  abstract void training(boolean on);

  /**
   * Returns an input on the module's device. On the processor it is in the buffer's memory. It
   * belongs to the innermost {@code PointerScope}.
   */
  final Tensor input(ByteBuffer values, ScalarType type, long... shape) {
    Tensor here = TensorBuffers.tensor(values, type, shape);
    return place.isGpu() ? here.to(place.device(), type) : here;
  }

  /**
   * Runs one forward pass in the module's precision. Records gradients if the thread's mode says
   * so.
   *
   * @return the output, of float32 if the precision has less, which belongs to the innermost {@code
   *     PointerScope}
   * @throws TorchException when the module fails
   * @throws IllegalArgumentException when it does not put out one tensor
   */
  @SuppressWarnings("try")
  final Tensor forward(Tensor input) {
    Tensor output;
    try (Autocast pass = Autocast.to(precision, place)) {
      output = output(input);
    } catch (RuntimeException e) {
      throw failure(e, input);
    }
    boolean cast =
        precision == Precision.BFLOAT16 && TensorBuffers.type(output) == ScalarType.BFloat16;
    return cast ? output.to(ScalarType.Float) : output;
  }

  /**
   * Computes the output of a batch.
   *
   * @throws RuntimeException of libtorch
   * @throws IllegalArgumentException when it is not one tensor
   */
  abstract Tensor output(Tensor input);

  /**
   * Runs the backward pass of an output, which adds to the gradients.
   *
   * @param gradient of the output
   */
  final void backward(Tensor output, Tensor gradient) {
    try {
      output.backward(gradient, new BoolOptional(false), false, new TensorArrayRefOptional());
    } catch (RuntimeException e) {
      throw failure(e, output);
    }
  }

  /**
   * Runs work on a batch that needs tensors beside those of the passes, such as a loss.
   *
   * @throws TorchException when libtorch fails
   * @throws io.vertigrad.compute.data.ComponentException of one sentence if memory is short
   */
  final <T> T onBatch(int samples, Supplier<T> work) {
    try {
      return work.get();
    } catch (RuntimeException e) {
      throw failure(e, samples);
    }
  }

  private RuntimeException failure(RuntimeException reported, Tensor batch) {
    return failure(reported, batch.dim() == 0 ? 1 : batch.size(0));
  }

  /** Returns the failure of a pass: one sentence if memory is short. */
  private RuntimeException failure(RuntimeException reported, long samples) {
    return MemoryShortage.explained(
        TorchException.of(reported),
        String.format(Locale.ROOT, "model %s, batch of %,d samples", name, samples),
        precision,
        place.models());
  }

  /** Returns the customary ending of the files that {@link #save} writes. */
  abstract String format();

  /** Writes a file that PyTorch reads. */
  abstract void save(Path file) throws IOException;

  @Override
  public void close() {
    parameters().forEach(one -> one.tensor().close());
    buffers().forEach(one -> one.tensor().close());
    place.close();
  }
}
