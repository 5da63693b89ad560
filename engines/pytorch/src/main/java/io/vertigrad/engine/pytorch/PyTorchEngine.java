package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Device;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.GpuUse;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.NativeMemory;
import io.vertigrad.compute.Precision;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.PlainRules;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.settings.Settings;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Supplier;

/**
 * The engine that computes with PyTorch. It trains the built-in networks, what {@code torch.export}
 * wrote, and TorchScript modules that {@code torch.jit.script} or {@code torch.jit.trace} exported.
 * Update rules are computed in Java, those of a replica on a GPU there.
 */
public final class PyTorchEngine implements Engine {

  private static final int DEFAULT_THREADS = 1;
  private static final String EXPORTED = "model.pt2";
  private static final String SCRIPTED = "model.pt";

  private final Supplier<Place> processor;

  /** Creates the engine; called by the {@code ServiceLoader}. */
  public PyTorchEngine() {
    this(Place::shared);
  }

  /** Creates an engine with other places on the processor; for tests. */
  PyTorchEngine(Supplier<Place> processor) {
    this.processor = processor;
  }

  @Override
  public String name() {
    return "pytorch";
  }

  @Override
  public void check(String name, Settings options) {
    ModelLoader.check(name, options);
  }

  @Override
  public void checkBatch(String model, int batch, Settings job) {
    ModelLoader.checkBatch(model, batch, job);
  }

  @Override
  public void checkDevice(Device device) {
    List<Gpu> gpus = LibTorch.cuda().check(device);
    // A process that has not loaded libtorch may never compute, and an operation takes memory.
    if (LibTorch.running()) {
      GpuCheck.HERE.require(gpus);
    }
  }

  @Override
  public void checkPrecision(Precision precision) {
    if (precision != Precision.FLOAT32) {
      Autocast.check();
    }
  }

  @Override
  public void prepare(int threads) {
    LibTorch.start(threads);
  }

  @Override
  public Model model(ModelConfig config) {
    LibTorch.start(config.threads());
    return new ModelLoader(config, places(config)).load();
  }

  @Override
  public OptionalLong parameters(ModelConfig config) {
    return BuiltInNetworks.parameters(config);
  }

  @Override
  public SplitModel split(ModelConfig config, SplitConfig split) {
    LibTorch.start(config.threads());
    return SplitNetwork.of(config, split, places(config));
  }

  private Supplier<Place> places(ModelConfig config) {
    Device device = config.device();
    return device.gpu() ? () -> Place.on(device, config.name()) : processor;
  }

  @Override
  public UpdateRule updateRule(OptimizerConfig config, int length) {
    return PlainRules.create(config, length);
  }

  @Override
  public String modelFile(String model) {
    boolean exported =
        BuiltInNetworks.isGraph(model)
            || ModelLoader.isExported(model)
            || ModelLoader.isExported(modelFileIn(Path.of(model)).toString());
    return exported ? EXPORTED : SCRIPTED;
  }

  @Override
  public Path modelFileIn(Path run) {
    Path exported = run.resolve(EXPORTED);
    return Files.isRegularFile(exported) ? exported : run.resolve(SCRIPTED);
  }

  @Override
  public boolean isModelFile(String name) {
    return ModelLoader.isFile(name);
  }

  @Override
  public NativeMemory memory() {
    return LibTorch.running() ? LibTorch.memory() : NativeMemory.UNKNOWN;
  }

  @Override
  public GpuUse gpuUse() {
    return NvidiaManagement.HERE.use(GpuModels.HERE.gpus());
  }

  @Override
  public Map<String, String> platform(Device device) {
    return LibTorch.platform(device);
  }

  @Override
  public Map<String, String> describe() {
    return LibTorch.start(DEFAULT_THREADS).describe();
  }
}
