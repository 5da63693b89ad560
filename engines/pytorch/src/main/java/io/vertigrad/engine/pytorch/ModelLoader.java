package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.ComponentException;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.engine.pytorch.graph.ExportArchive;
import io.vertigrad.engine.pytorch.graph.ExportedProgram;
import io.vertx.core.json.JsonObject;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds the module that a configuration names, and checks that it fits the data. */
final class ModelLoader {

  private static final Logger LOG = LoggerFactory.getLogger(ModelLoader.class);
  private static final String EXPECTED =
      "one of %s, or the path of a file of torch.export that ends in .pt2, or of TorchScript in .pt"
          .formatted(BuiltInNetworks.names());
  private static final double ROUNDING = 1e-4;

  /** Files whose warnings were logged. Every role of a job loads the same file. */
  private static final Set<Path> WARNED = ConcurrentHashMap.newKeySet();

  private final ModelConfig config;
  private final Supplier<Place> places;

  /**
   * Creates a loader of one model.
   *
   * @param places provides the place where the model computes
   */
  ModelLoader(ModelConfig config, Supplier<Place> places) {
    this.config = config;
    this.places = places;
  }

  /**
   * Checks name and options of a model without building it.
   *
   * @param options the section of the job file
   * @throws io.vertigrad.compute.settings.SettingsException at the first error
   */
  static void check(String name, Settings options) {
    if (BuiltInNetworks.has(name)) {
      BuiltInNetworks.check(name, options);
      return;
    }
    if (!isFile(name)) {
      throw options.refuse(
          "name",
          "is \"%s\", which the engine pytorch does not know, expected %s"
              .formatted(name, EXPECTED));
    }
    options.refuseUnknown();
    try {
      if (isExported(name)) {
        ExportArchive.check(Path.of(name));
      } else {
        ScriptArchive.open(Path.of(name));
      }
    } catch (InvalidPathException e) {
      throw options.refuse("name", "is no path: " + e.getMessage());
    } catch (IllegalArgumentException unusable) {
      throw options.refuse("name", "is wrong: " + unusable.getMessage());
    }
  }

  /** Returns true when the name is a path by its form, whether or not the file exists. */
  static boolean isFile(String name) {
    return name.endsWith(".pt") || name.endsWith(".pth") || isExported(name) || name.contains("/");
  }

  /** Returns true for the name of a file that {@code torch.export} wrote. */
  static boolean isExported(String name) {
    return name.endsWith(".pt2");
  }

  /**
   * Refuses batches of another size than a file was exported for, and of sizes that change.
   *
   * @param name of a model that was checked
   * @param batch number of samples
   * @param job the job file
   */
  static void checkBatch(String name, int batch, Settings job) {
    if (!isExported(name)) {
      return;
    }
    OptionalLong only = ExportArchive.check(Path.of(name));
    if (only.isEmpty()) {
      return;
    }
    if (only.getAsLong() != batch) {
      throw job.refuse(
          "workers.batch",
          "is %s, but %s was exported for batches of %s: set it so, or export with a dynamic first dimension"
              .formatted(batch, name, only.getAsLong()));
    }
    JsonObject workers = job.toJson().getJsonObject("workers", new JsonObject());
    if ("speed".equals(workers.getValue("balance"))) {
      throw job.refuse(
          "workers.balance",
          "is \"speed\", which changes the size of batches, but %s was exported for batches of %s: leave it out, or export with a dynamic first dimension"
              .formatted(name, only.getAsLong()));
    }
  }

  PyTorchModel load() {
    try {
      return built();
    } catch (RuntimeException e) {
      RuntimeException explained =
          MemoryShortage.explained(
              TorchException.of(e), "model " + config.name(), config.precision(), List.of());
      throw explained instanceof ComponentException shortage
          ? new IllegalArgumentException(shortage.getMessage(), shortage)
          : explained;
    }
  }

  private PyTorchModel built() {
    LibTorch.computeOn(config.threads());
    if (BuiltInNetworks.isGraph(config.name())) {
      return loadProgram(BuiltInNetworks.program(config));
    }
    if (BuiltInNetworks.isLayered(config.name())) {
      BuiltInNetworks.requireOnePosition(config);
      return loadNamed(BuiltInNetworks.of(config));
    }
    if (!isFile(config.name())) {
      throw new IllegalArgumentException(
          "model '%s' is not known to the engine pytorch, expected %s"
              .formatted(config.name(), EXPECTED));
    }
    if (!config.options().isEmpty()) {
      throw new IllegalArgumentException(
          "model %s: option %s is not known, expected no options"
              .formatted(config.name(), config.options().keySet().iterator().next()));
    }
    Path file = Path.of(config.name());
    if (isExported(config.name())) {
      ExportedProgram program = ExportArchive.read(file);
      requireSample(program);
      return loadProgram(program);
    }
    warn(file, ScriptArchive.open(file).warnings());
    ScriptModule module = module(file, places.get());
    return whole(
        module,
        () ->
            new FlatTensors(
                module,
                module.place().isShared() ? bound(module) : boundAsOnProcessor(module, file)),
        tensors -> form(module, tensors));
  }

  private static void warn(Path file, List<String> warnings) {
    if (WARNED.add(file.toAbsolutePath())) {
      warnings.forEach(warning -> LOG.warn("model {}: {}", file, warning));
    }
  }

  private PyTorchModel loadProgram(ExportedProgram program) {
    GraphModule module;
    try {
      module = new GraphModule(config.name(), program, places.get(), config.precision());
    } catch (IllegalArgumentException e) {
      throw refused(e.getMessage());
    }
    warn(Path.of(config.name()), module.warning().stream().toList());
    return whole(
        module, () -> new FlatTensors(module, bound(module)), tensors -> form(module, tensors));
  }

  /** Refuses samples of another shape than the graph was exported for. */
  private void requireSample(ExportedProgram program) {
    List<Long> expected = program.sample();
    List<Long> found = config.inputShape().stream().map(Integer::longValue).toList();
    long length = found.stream().reduce(1L, Math::multiplyExact);
    boolean row = expected.size() == 1 && (expected.get(0) == -1 || expected.get(0) == length);
    boolean fits = expected.size() == found.size();
    for (int i = 0; fits && i < found.size(); i++) {
      fits = expected.get(i) == -1 || expected.get(i).equals(found.get(i));
    }
    if (!fits && !row) {
      throw refused(
          "was exported for samples of %s, but the data set has %s"
              .formatted(expected.toString().replace("-1", "any"), found));
    }
  }

  /** Builds a model of a module, which is closed if that fails. */
  private PyTorchModel whole(
      TorchModule module, Supplier<FlatTensors> binding, Function<FlatTensors, Form> probe) {
    FlatTensors tensors = null;
    try {
      tensors = binding.get();
      Form form = probe.apply(tensors);
      return new PyTorchModel(config, module, tensors, form.sample(), form.type());
    } catch (RuntimeException | Error e) {
      if (tensors != null) {
        tensors.close();
      }
      module.close();
      throw e;
    }
  }

  /**
   * Binds the tensors of a module on another device by name, as they are bound on the processor:
   * tensors that share memory there do not share it elsewhere.
   */
  private List<FlatTensors.Bound> boundAsOnProcessor(ScriptModule module, Path file) {
    Map<String, Tensor> there = module.tensors();
    try (ScriptModule here = module(file, Place.shared())) {
      return bound(here).stream()
          .map(one -> new FlatTensors.Bound(one.block(), there.get(one.block().name())))
          .toList();
    }
  }

  private ScriptModule module(Path file, Place place) {
    try {
      return ScriptModule.load(file, place, config.precision());
    } catch (TorchException e) {
      throw new IllegalArgumentException(
          "model %s: libtorch cannot load it: %s".formatted(config.name(), ScriptModule.reason(e)),
          e);
    }
  }

  /** The shape and type in which a module takes samples. */
  private record Form(List<Integer> sample, ScalarType type) {}

  private PyTorchModel loadNamed(Network network) {
    ScriptModule module = ScriptModule.of(network, places.get(), config.precision());
    Form form = new Form(network.input(), ScalarType.Float);
    return whole(module, () -> FlatTensors.of(module, network), tensors -> form);
  }

  /**
   * Binds the tensors that are exchanged: trained parameters, frozen parameters, and statistics.
   */
  private List<FlatTensors.Bound> bound(TorchModule module) {
    List<FlatTensors.Bound> bound = new ArrayList<>();
    for (TorchModule.Named parameter : FlatTensors.distinct(module.parameters())) {
      ScalarType type = TensorBuffers.type(parameter.tensor());
      if (type != ScalarType.Float) {
        throw refused(
            "parameter %s is of %s, expected float32: export it after module.float()"
                .formatted(parameter.name(), TensorBuffers.name(type)));
      }
      // A frozen parameter must not change, not even by weight decay.
      boolean trained = parameter.tensor().requires_grad();
      bound.add(bound(parameter, trained ? Block.Kind.TRAINABLE : Block.Kind.STATISTIC));
    }
    if (bound.stream().noneMatch(one -> one.block().kind() == Block.Kind.TRAINABLE)) {
      throw refused(
          "has no parameters to train, as after torch.jit.freeze: export the module itself");
    }
    for (TorchModule.Named buffer : FlatTensors.distinct(module.buffers())) {
      if (isStatistic(buffer.tensor())) {
        bound.add(bound(buffer, Block.Kind.STATISTIC));
      }
    }
    return bound;
  }

  /**
   * Returns true for a statistic. Counters, and tables such as masks of minus infinity, stay in the
   * module.
   */
  @SuppressWarnings("try")
  private static boolean isStatistic(Tensor buffer) {
    if (TensorBuffers.type(buffer) != ScalarType.Float || buffer.numel() == 0) {
      return false;
    }
    try (PointerScope temporary = new PointerScope()) {
      FloatBuffer values = TensorBuffers.values(buffer);
      while (values.hasRemaining()) {
        if (!Float.isFinite(values.get())) {
          return false;
        }
      }
      return true;
    }
  }

  private static FlatTensors.Bound bound(TorchModule.Named one, Block.Kind kind) {
    List<Integer> shape = Arrays.stream(one.tensor().shape()).mapToObj(Math::toIntExact).toList();
    return new FlatTensors.Bound(new Block(one.name(), shape, kind), one.tensor());
  }

  /**
   * Returns the form in which the module takes the data set's samples: unchanged or as one row; ids
   * of tokens as int64, or as float32 if it takes only those.
   */
  private Form form(TorchModule module, FlatTensors tensors) {
    List<Integer> row = List.of(config.inputShape().stream().reduce(1, Math::multiplyExact));
    List<ScalarType> types =
        config.tokens() > 0
            ? List.of(ScalarType.Long, ScalarType.Float)
            : List.of(ScalarType.Float);
    List<String> found = new ArrayList<>();
    module.training(false);
    for (ScalarType type : types) {
      for (List<Integer> sample : new LinkedHashSet<>(List.of(config.inputShape(), row))) {
        Form form = new Form(sample, type);
        String obstacle;
        // Statistics of a batch norm that was traced in training mode change in every pass.
        tensors.beginForward();
        try {
          obstacle = obstacle(module, form);
        } finally {
          tensors.restoreStatistics();
        }
        if (obstacle.isEmpty()) {
          return form;
        }
        found.add(obstacle);
      }
    }
    // Prefer the message about the size of the output: it says more than a failure of the module.
    throw refused(
        found.stream()
            .filter(one -> one.startsWith("its output"))
            .findFirst()
            .orElse(found.get(0)));
  }

  /** Returns the reason why the module does not take samples in this form; empty if it does. */
  @SuppressWarnings("try")
  private String obstacle(TorchModule module, Form form) {
    try (PointerScope temporary = new PointerScope()) {
      int length = form.sample().stream().reduce(1, Math::multiplyExact);
      ByteBuffer values =
          ByteBuffer.allocateDirect(length * PyTorchModel.bytes(form.type()))
              .order(ByteOrder.nativeOrder());
      // Use the last id: a module for fewer tokens fails on it.
      for (int i = 0; i < length && config.tokens() > 0; i++) {
        if (form.type() == ScalarType.Long) {
          values.putLong(i * Long.BYTES, config.tokens() - 1L);
        } else {
          values.putFloat(i * Float.BYTES, config.tokens() - 1f);
        }
      }
      Tensor output =
          PyTorchModel.forward(
              module,
              module.input(values, form.type(), PyTorchModel.inputShape(1, form.sample())),
              config);
      // The input has the memory of the buffer, which must not be freed during the pass.
      Reference.reachabilityFence(values);
      long[] shape = output.shape();
      long[] expected = PyTorchModel.outputShape(1, config);
      if (Arrays.equals(shape, expected)) {
        checkValues(output);
        return "";
      }
      String several = config.positions() > 1 ? " at each of %s positions" : "";
      return "its output is %s for one sample of %s, expected %s for the %s %s%s"
          .formatted(
              Arrays.toString(shape),
              form.sample(),
              Arrays.toString(expected),
              config.classes(),
              config.loss().targets().text(),
              several.formatted(config.positions()));
    } catch (TorchException e) {
      String ids =
          config.tokens() == 0
              ? ""
              : " of ids up to %s as %s"
                  .formatted(
                      config.tokens() - 1, form.type() == ScalarType.Long ? "int64" : "float32");
      return "does not take samples of shape %s%s: %s"
          .formatted(form.sample(), ids, ScriptModule.reason(e));
    }
  }

  private void checkValues(Tensor output) {
    ScalarType type = TensorBuffers.type(output);
    if (type != ScalarType.Float) {
      throw refused("its output is of %s, expected float32".formatted(TensorBuffers.name(type)));
    }
    FloatBuffer values = TensorBuffers.values(output);
    double sum = 0;
    // Outputs of a sigmoid look the same as values that happen to lie between 0 and 1.
    boolean probable = config.loss() == Loss.CROSS_ENTROPY && config.classes() > 1;
    for (int i = 0; i < values.capacity(); i++) {
      sum += values.get(i);
      probable &= values.get(i) >= 0 && values.get(i) <= 1;
    }
    if (probable && Math.abs(sum - config.positions()) < ROUNDING * config.positions()) {
      throw refused(
          "its outputs are probabilities, expected logits: leave the softmax at its end out, the"
              + " loss has it");
    }
  }

  private IllegalArgumentException refused(String what) {
    return new IllegalArgumentException("model %s: %s".formatted(config.name(), what));
  }
}
