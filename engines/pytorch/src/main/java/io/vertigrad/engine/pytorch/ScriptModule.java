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

/** A TorchScript module in native memory, and its tensors. Use it from one thread. */
final class ScriptModule implements AutoCloseable {

  /** A tensor and its path in the module. It is the module's tensor, not a copy. */
  record Named(String name, PtNDArray array) {}

  private static final String ERROR = "RuntimeError:";
  private static final String INTERPRETER = "The following operation failed";
  private static final String MARK = "<--- HERE";

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
   * @param place of its tensors; the module owns it, and closes it even if this fails
   * @throws EngineException when libtorch refuses the file
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
      // On a GPU, constants of the code, which are not attributes of the module, go there too.
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

  /**
   * Builds the module of a network. The network goes through a temporary file like any other
   * module.
   */
  static ScriptModule of(Network network, Place place) {
    Path file = null;
    try {
      file = Files.createTempFile("vertigrad-", ".pt");
      ScriptWriter.write(network, file);
      return load(ScriptArchive.open(file), file, place);
    } catch (IOException e) {
      place.close();
      throw new IllegalArgumentException(
          "model %s: could not be written to %s: %s"
              .formatted(network.name(), file, e.getMessage()),
          e);
    } finally {
      delete(file);
    }
  }

  /**
   * Deletes a file that is no longer needed, or marks it for deletion when the JVM ends. Null is
   * allowed.
   */
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
      // As a plain input it would be taken for an entry of a dictionary.
      array.setName(null);
    }
    if (bufferNames.isEmpty()) {
      return;
    }
    // In DJL, an array with this name selects a method other than forward.
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

  /** Returns the place of the tensors. */
  Place place() {
    return place;
  }

  /** Returns parameters and buffers by name. */
  Map<String, PtNDArray> tensors() {
    Map<String, PtNDArray> found = new HashMap<>();
    parameters.forEach(one -> found.put(one.name(), one.array()));
    buffers.forEach(one -> found.put(one.name(), one.array()));
    return found;
  }

  /** Returns the parameters in module order; one that two submodules share occurs twice. */
  List<Named> parameters() {
    return parameters;
  }

  /** Returns the buffers in module order, of any type. */
  List<Named> buffers() {
    return buffers;
  }

  /** Returns the owner of this module's tensors, which is the parent of each step's manager. */
  PtNDManager manager() {
    return manager;
  }

  /** Switches batch norm, dropout and similar layers between training and evaluation mode. */
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
   * Runs one forward pass. Records gradients if the thread's mode says so.
   *
   * @param input its manager owns the result
   * @throws EngineException when the module fails
   * @throws IllegalArgumentException when it does not put out one tensor
   */
  PtNDArray forward(PtNDArray input) {
    // "true" disables libtorch's inference mode, whose tensors could not be trained later.
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

  /**
   * Returns what a native failure says, in one line: the error without the traces around it, and
   * the code that it is about where the error alone says too little.
   */
  static String reason(Throwable failure) {
    String message = String.valueOf(failure.getMessage());
    List<String> lines = message.lines().filter(one -> !one.isBlank()).toList();
    int mark = -1;
    for (int i = 0; i < lines.size(); i++) {
      mark = lines.get(i).endsWith(MARK) ? i : mark;
    }
    // A failure of running code names the error behind the code, which is indented.
    int traces = message.startsWith(INTERPRETER) ? mark + 1 : 0;
    String error =
        lines.stream()
            .skip(traces)
            .filter(one -> traces == 0 || !Character.isWhitespace(one.charAt(0)))
            .findFirst()
            .orElse("");
    String text = error.strip().replaceFirst("^builtins\\.", "");
    text = (text.startsWith(ERROR) ? text.substring(ERROR.length()) : text).strip();
    if (text.endsWith(":") && mark > 0) {
      return text.substring(0, text.length() - 1) + " at " + lines.get(mark - 1).strip();
    }
    if (text.isEmpty() || text.equals("null")) {
      return mark > 0 ? "it fails at " + lines.get(mark - 1).strip() : failure.toString();
    }
    return text;
  }
}
