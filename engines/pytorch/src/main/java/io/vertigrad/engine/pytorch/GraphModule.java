package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Precision;
import io.vertigrad.engine.pytorch.graph.ExportArchive;
import io.vertigrad.engine.pytorch.graph.ExportedProgram;
import io.vertigrad.engine.pytorch.graph.Graph;
import io.vertigrad.engine.pytorch.graph.GraphExecutor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A network that {@code torch.export} wrote, or that has the same form. */
final class GraphModule extends TorchModule {

  private final ExportedProgram program;
  private final GraphExecutor executor;
  private final List<Tensor> constants = new ArrayList<>();
  private boolean training;

  /**
   * Creates the tensors of a program and resolves its operators.
   *
   * @param name for messages
   * @param place of the tensors; the module owns it, and closes it even if this fails
   * @param precision of its passes
   * @throws IllegalArgumentException naming the node that cannot run
   */
  @SuppressWarnings("try")
  GraphModule(String name, ExportedProgram program, Place place, Precision precision) {
    super(name, place, precision);
    try (PointerScope temporary = new PointerScope()) {
      executor = new GraphExecutor(program.graph(), create(program), place.device());
      // The initial values would stay on the heap beside those in native memory.
      this.program = program.without(tensors().keySet());
    } catch (RuntimeException | Error e) {
      constants.forEach(Tensor::close);
      super.close();
      throw e;
    }
  }

  private Map<String, Tensor> create(ExportedProgram program) {
    Map<String, Graph.Kind> kinds = new HashMap<>();
    program.graph().inputs().forEach(one -> kinds.put(one.tensor(), one.kind()));
    Map<ExportedProgram.Stored, Tensor> created = new IdentityHashMap<>();
    Map<String, Tensor> all = new HashMap<>();
    program
        .tensors()
        .forEach(
            (tensor, stored) -> {
              boolean parameter = kinds.get(tensor) == Graph.Kind.PARAMETER;
              Tensor value = created.computeIfAbsent(stored, one -> tensor(one, parameter));
              all.put(tensor, value);
              switch (kinds.getOrDefault(tensor, Graph.Kind.CONSTANT)) {
                case PARAMETER -> parameters().add(new Named(tensor, value));
                case BUFFER -> buffers().add(new Named(tensor, value));
                default -> constants.add(value);
              }
            });
    return all;
  }

  private Tensor tensor(ExportedProgram.Stored stored, boolean parameter) {
    ScalarType type = type(stored.type());
    long[] shape = stored.shape().stream().mapToLong(Long::longValue).toArray();
    Tensor tensor =
        torch.empty(shape, new TensorOptions(type), new MemoryFormatOptional()).retainReference();
    if (stored.values().hasRemaining()) {
      bytes(tensor).put(stored.values().duplicate());
    }
    if (place().isGpu()) {
      Tensor there = tensor.to(place().device(), type).retainReference();
      tensor.close();
      tensor = there;
    }
    return parameter && stored.trained() ? tensor.set_requires_grad(true) : tensor;
  }

  /** Returns the memory of a contiguous tensor of the processor. */
  private static ByteBuffer bytes(Tensor tensor) {
    return new BytePointer(tensor.data_ptr())
        .capacity(tensor.nbytes())
        .asByteBuffer()
        .order(ByteOrder.nativeOrder());
  }

  private static ScalarType type(int number) {
    for (ScalarType type : ScalarType.values()) {
      if (type.value == number) {
        return type;
      }
    }
    throw new IllegalArgumentException("type %s of a tensor is not known".formatted(number));
  }

  /** Returns what the user may not expect; empty if there is nothing. */
  Optional<String> warning() {
    if (executor.isFrozen()) {
      return Optional.of(
          "was exported in evaluation mode and decomposed, so that its batch norm keeps its"
              + " statistics; call train() before torch.export.export to train them");
    }
    return executor.exportedInTraining().orElse(true)
        ? Optional.empty()
        : Optional.of(
            "was exported in evaluation mode, and trains with batch norm and dropout in training"
                + " mode; call train() before torch.export.export to choose for each layer");
  }

  @Override
  void training(boolean on) {
    training = on;
  }

  @Override
  Tensor output(Tensor input) {
    long expected = program.batch().orElse(input.size(0));
    if (input.size(0) == expected) {
      return executor.forward(input, training);
    }
    if (training) {
      throw new IllegalArgumentException(
          ("it was exported for batches of %s samples, found %s: set workers.batch to %s and"
                  + " workers.dropLast to true, or export it with a dynamic first dimension")
              .formatted(expected, input.size(0), expected));
    }
    return inParts(input, expected);
  }

  /** Returns the output of any number of samples; the last ones are repeated to fill a batch. */
  private Tensor inParts(Tensor input, long batch) {
    long samples = input.size(0);
    TensorVector outputs = new TensorVector();
    for (long first = 0; first < samples; first += batch) {
      Tensor rows =
          torch
              .arange(
                  new Scalar(first), new Scalar(first + batch), new TensorOptions(ScalarType.Long))
              .clamp_max(new Scalar(samples - 1));
      Tensor part =
          input.index_select(
              0, place().isGpu() ? rows.to(place().device(), ScalarType.Long) : rows);
      outputs.push_back(executor.forward(part, false));
    }
    return torch.cat(outputs, 0).narrow(0, 0, samples);
  }

  @Override
  String format() {
    return "pt2";
  }

  /** Writes a file that {@code torch.export.load} reads. Only on the processor. */
  @Override
  @SuppressWarnings("try")
  void save(Path file) throws IOException {
    try (PointerScope temporary = new PointerScope()) {
      Map<String, ByteBuffer> values = new HashMap<>();
      tensors()
          .forEach(
              (tensor, value) -> {
                // A tensor without elements has no memory.
                if (value.numel() > 0) {
                  values.put(tensor, bytes(value.contiguous()));
                }
              });
      ExportArchive.write(program, values, file);
    }
  }

  @Override
  public void close() {
    executor.close();
    constants.forEach(Tensor::close);
    super.close();
  }
}
