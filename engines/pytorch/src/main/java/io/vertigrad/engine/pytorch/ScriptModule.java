package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Precision;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.JitModule;
import org.bytedeco.pytorch.NamedTensor;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.named_buffer_iterator;
import org.bytedeco.pytorch.named_buffer_list;
import org.bytedeco.pytorch.named_parameter_iterator;
import org.bytedeco.pytorch.named_parameter_list;

/** A TorchScript module. */
final class ScriptModule extends TorchModule {

  private static final String ERROR = "RuntimeError:";
  private static final String INTERPRETER = "The following operation failed";
  private static final String MARK = "<--- HERE";

  private final JitModule module;
  private Boolean training;

  private ScriptModule(String name, Place place, Precision precision, JitModule module) {
    super(name, place, precision);
    this.module = module;
  }

  /**
   * Loads a file that was checked.
   *
   * @param place of its tensors, and of constants in its code; the module owns it, and closes it
   *     even if this fails
   * @param precision of its passes
   * @throws TorchException when libtorch refuses the file
   */
  static ScriptModule load(Path file, Place place, Precision precision) {
    return load(file, file.toString(), place, precision);
  }

  @SuppressWarnings("try")
  private static ScriptModule load(Path file, String name, Place place, Precision precision) {
    try (PointerScope temporary = new PointerScope()) {
      JitModule module = torch.load(file.toString(), new DeviceOptional(place.device()), true);
      ScriptModule loaded = new ScriptModule(name, place, precision, module.retainReference());
      loaded.findTensors();
      return loaded;
    } catch (RuntimeException e) {
      place.close();
      throw new TorchException(e);
    }
  }

  /**
   * Builds the module of a network. The network goes through a temporary file like any other
   * module.
   */
  static ScriptModule of(Network network, Place place, Precision precision) {
    Path file = null;
    try {
      file = Files.createTempFile("vertigrad-", ".pt");
      ScriptWriter.write(network, file);
    } catch (IOException e) {
      place.close();
      delete(file);
      throw new IllegalArgumentException(
          "model %s: could not be written to %s: %s"
              .formatted(network.name(), file, e.getMessage()),
          e);
    }
    try {
      return load(file, network.name(), place, precision);
    } finally {
      delete(file);
    }
  }

  /**
   * Deletes a file that is no longer needed, or marks it for deletion when the JVM ends. Null is
   * allowed.
   */
  private static void delete(Path copy) {
    if (copy != null) {
      try {
        Files.deleteIfExists(copy);
      } catch (IOException e) {
        copy.toFile().deleteOnExit();
      }
    }
  }

  private void findTensors() {
    named_parameter_list all = module.named_parameters();
    named_parameter_iterator end = all.end();
    for (named_parameter_iterator at = all.begin(); at.notEquals(end); at.increment()) {
      parameters().add(named(at.multiply()));
    }
    named_buffer_list own = module.named_buffers();
    named_buffer_iterator last = own.end();
    for (named_buffer_iterator at = own.begin(); at.notEquals(last); at.increment()) {
      buffers().add(named(at.multiply()));
    }
  }

  private static Named named(NamedTensor found) {
    Tensor tensor = new Tensor(found.value());
    return new Named(found.name().getString(), tensor.retainReference());
  }

  @Override
  void training(boolean on) {
    if (training == null || training != on) {
      module.train(on);
      training = on;
    }
  }

  @Override
  Tensor output(Tensor input) {
    IValue output = module.forward(new IValueVector(new IValue(input)));
    if (output.isTensor()) {
      return output.toTensor();
    }
    if (output.isTuple() && output.toTuple().size() == 1) {
      IValue only = output.toTuple().elements().get(0);
      if (only.isTensor()) {
        return only.toTensor();
      }
    }
    throw new IllegalArgumentException(
        "its output is %s, expected one tensor"
            .formatted(
                output.isTuple()
                    ? "a tuple of %s values".formatted(output.toTuple().size())
                    : "a " + output.tagKind().getString()));
  }

  @Override
  String format() {
    return "pt";
  }

  /** Writes a file that {@code torch.jit.load} reads, in evaluation mode. */
  @Override
  void save(Path file) throws IOException {
    training(false);
    Path folder = Files.createTempDirectory("vertigrad-");
    // libtorch names the folder in the archive after the file: always the same, for equal bytes.
    Path written = folder.resolve("archive.pt");
    try {
      module.save(written.toString());
      try (OutputStream out = Files.newOutputStream(file)) {
        Files.copy(written, out);
      }
    } catch (RuntimeException e) {
      throw new IOException(reason(new TorchException(e)), e);
    } finally {
      delete(written);
      delete(folder);
    }
  }

  @Override
  public void close() {
    module.close();
    super.close();
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
