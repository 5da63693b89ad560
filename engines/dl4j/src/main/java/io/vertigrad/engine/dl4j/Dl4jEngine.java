package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Device;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.NativeMemory;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.settings.Settings;
import java.util.Map;
import java.util.OptionalLong;
import org.bytedeco.javacpp.Pointer;

/** The engine that computes with Eclipse Deeplearning4j. */
public final class Dl4jEngine implements Engine {

  private static final int DEFAULT_THREADS = 1;

  @Override
  public String name() {
    return "dl4j";
  }

  @Override
  public void check(String name, Settings options) {
    ModelLoader.check(name, options);
  }

  @Override
  public void checkDevice(Device device) {
    if (device.gpu()) {
      throw new IllegalArgumentException(
          "the engine dl4j computes where the ND4J that it was built with does: leave it out, and"
              + " build with -Pcuda (VERTIGRAD_PROFILE=cuda) for a GPU");
    }
  }

  @Override
  public void prepare(int threads) {
    Backend.start(threads);
  }

  @Override
  public Model model(ModelConfig config) {
    Backend.start(config.threads());
    return ModelLoader.named(config, () -> new ModelLoader(config).load());
  }

  @Override
  public OptionalLong parameters(ModelConfig config) {
    return ModelLoader.parameters(config);
  }

  @Override
  public SplitModel split(ModelConfig config, SplitConfig split) {
    Backend.start(config.threads());
    return ModelLoader.named(config, () -> SplitNetwork.of(config, split));
  }

  @Override
  public UpdateRule updateRule(OptimizerConfig config, int length) {
    Backend.start(DEFAULT_THREADS);
    return UpdateRules.create(config, length);
  }

  @Override
  public boolean isModelFile(String name) {
    return ModelLoader.isPath(name);
  }

  @Override
  public NativeMemory memory() {
    return Backend.running()
        ? new NativeMemory(Pointer.totalBytes(), Pointer.physicalBytes())
        : NativeMemory.UNKNOWN;
  }

  @Override
  public Map<String, String> platform(Device device) {
    return Map.of("nd4j", Backend.version());
  }

  @Override
  public Map<String, String> describe() {
    return Backend.start(DEFAULT_THREADS).describe();
  }
}
