package io.vertigrad.engine.pytorch;

import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.engine.PtNDManager;
import ai.djl.pytorch.engine.PtSymbolBlock;
import ai.djl.pytorch.jni.IValueUtils;
import ai.djl.pytorch.jni.JniUtils;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A TorchScript module in native memory, and its tensors. One thread uses it. */
final class ScriptModule implements AutoCloseable {

  /** A tensor and its path in the module; it is the module's own, not a copy. */
  record Named(String name, PtNDArray array) {}

  private static final String ERROR = "RuntimeError:";

  private final Place place;
  private final PtNDManager manager;
  private final PtSymbolBlock block;
  private final List<Named> parameters = new ArrayList<>();
  private final List<Named> buffers = new ArrayList<>();
  private Boolean training;

  private ScriptModule(Place place, PtNDManager manager, PtSymbolBlock block) {
    this.place = place;
    this.manager = manager;
    this.block = block;
  }

  /**
   * Loads a file that was checked.
   *
   * @param place where its tensors are to be; the module owns it, and closes it even if this fails
   * @throws EngineException when libtorch refuses it
   */
  static ScriptModule load(ScriptArchive archive, Path file, Place place) {
    List<String> buffers = archive.buffers();
    PtNDManager manager = LibTorch.manager(place.device());
    Path copy = null;
    try {
      Path loaded = file;
      if (!buffers.isEmpty()) {
        copy = Files.createTempFile("vertigrad-", ".pt");
        archive.writeWithBuffers(copy);
        loaded = copy;
      }
      // On a GPU constants of the code go there, too, which are no attributes of the module.
      boolean everything = place.device().isGpu();
      PtSymbolBlock block =
          JniUtils.loadModule(manager, loaded, everything, new String[0], new String[0], true);
      ScriptModule module = new ScriptModule(place, manager, block);
      module.findTensors(buffers);
      return module;
    } catch (IOException e) {
      manager.close();
      place.close();
      throw ScriptArchive.refused(file, "a copy could not be written: " + e.getMessage());
    } catch (RuntimeException e) {
      manager.close();
      place.close();
      throw e;
    } finally {
      delete(copy);
    }
  }

  /** A network goes through a file like any other module, which is there until it is loaded. */
  static ScriptModule of(Network network, Place place) {
    Path file = null;
    try {
      file = Files.createTempFile("vertigrad-", ".pt");
      ScriptWriter.write(network, file);
      return load(ScriptArchive.open(file), file, place);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "model %s: could not be written to %s: %s"
              .formatted(network.name(), file, e.getMessage()),
          e);
    } finally {
      delete(file);
    }
  }

  /** Deletes a file that is no longer needed, if there is one; at the latest when the JVM ends. */
  static void delete(Path copy) {
    if (copy != null) {
      try {
        Files.deleteIfExists(copy);
      } catch (IOException e) {
        copy.toFile().deleteOnExit();
      }
    }
  }

  private void findTensors(List<String> bufferNames) {
    for (NDArray array : JniUtils.moduleGetParams(block, manager)) {
      parameters.add(new Named(array.getName(), (PtNDArray) array));
      // As an input it would be taken for an entry of a dictionary.
      array.setName(null);
    }
    if (bufferNames.isEmpty()) {
      return;
    }
    // An array of this name is DJL's way to call another method than forward.
    PtNDArray call = manager.create(new Shape(0), DataType.FLOAT32);
    call.setName("module_method:" + ScriptArchive.BUFFERS);
    NDList found = IValueUtils.forward(block, new NDList(call), true);
    call.close();
    if (found.size() != bufferNames.size()) {
      throw new EngineException(
          "%d buffers, expected %d".formatted(found.size(), bufferNames.size()));
    }
    for (int i = 0; i < found.size(); i++) {
      buffers.add(new Named(bufferNames.get(i), (PtNDArray) found.get(i)));
    }
  }

  /** Where its tensors are. */
  Place place() {
    return place;
  }

  /** Its parameters and buffers by name. */
  Map<String, PtNDArray> tensors() {
    Map<String, PtNDArray> found = new HashMap<>();
    parameters.forEach(one -> found.put(one.name(), one.array()));
    buffers.forEach(one -> found.put(one.name(), one.array()));
    return found;
  }

  /** In module order; one that two submodules share is there twice. */
  List<Named> parameters() {
    return parameters;
  }

  /** In module order, of any type. */
  List<Named> buffers() {
    return buffers;
  }

  /** Owner of this module's tensors, and parent of what a step makes. */
  PtNDManager manager() {
    return manager;
  }

  /** Switches batch norm, dropout and the like. */
  void training(boolean on) {
    if (training == null || training != on) {
      if (on) {
        JniUtils.enableTrainingMode(block);
      } else {
        JniUtils.enableInferenceMode(block);
      }
      training = on;
    }
  }

  /**
   * One forward pass, in which gradients are followed if the thread's mode says so.
   *
   * @param input whose manager owns the result
   * @throws EngineException when the module fails
   * @throws IllegalArgumentException when it does not put out one tensor
   */
  PtNDArray forward(PtNDArray input) {
    // "true" here means: without libtorch's inference mode, whose tensors cannot be trained later.
    NDList output = IValueUtils.forward(block, new NDList(input), true);
    if (output.size() != 1) {
      throw new IllegalArgumentException(
          "its output is %d tensors, expected one".formatted(output.size()));
    }
    return (PtNDArray) output.get(0);
  }

  /** Writes a file that {@code torch.jit.load} reads, in evaluation mode. */
  void save(OutputStream out) {
    training(false);
    JniUtils.writeModule(block, out, false);
  }

  @Override
  public void close() {
    block.close();
    manager.close();
    place.close();
  }

  /** The line of a native failure that says what was wrong, without the trace around it. */
  static String reason(Throwable failure) {
    String message = failure.getMessage();
    if (message == null) {
      return failure.toString();
    }
    return Stream.concat(
            message.lines().filter(line -> line.startsWith(ERROR)), message.lines().limit(1))
        .map(line -> line.startsWith(ERROR) ? line.substring(ERROR.length()).strip() : line)
        .findFirst()
        .orElse(message);
  }
}
