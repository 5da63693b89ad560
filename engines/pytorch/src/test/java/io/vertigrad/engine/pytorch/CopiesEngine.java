package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.GpuUse;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.NativeMemory;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.settings.Settings;
import java.util.Map;
import java.util.function.Supplier;

/**
 * Runs the engine on the processor as it runs on a GPU: Java cannot read a module's tensors, so
 * parameters and gradients are copied.
 */
public class CopiesEngine implements Engine {

  static final String NAME = "pytorch-copies";

  private final String name;
  private final PyTorchEngine engine;

  /** Creates the engine; called by the {@code ServiceLoader}. */
  public CopiesEngine() {
    this(NAME, Place::copied);
  }

  CopiesEngine(String name, Supplier<Place> places) {
    this.name = name;
    this.engine = new PyTorchEngine(places);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void check(String name, Settings options) {
    engine.check(name, options);
  }

  @Override
  public Model model(ModelConfig config) {
    return engine.model(config);
  }

  @Override
  public SplitModel split(ModelConfig config, SplitConfig split) {
    return engine.split(config, split);
  }

  @Override
  public UpdateRule updateRule(OptimizerConfig config, int length) {
    return engine.updateRule(config, length);
  }

  @Override
  public String modelFile(String model) {
    return engine.modelFile(model);
  }

  @Override
  public NativeMemory memory() {
    return engine.memory();
  }

  @Override
  public GpuUse gpuUse() {
    return engine.gpuUse();
  }

  @Override
  public Map<String, String> describe() {
    return engine.describe();
  }
}
