package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Device;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Precision;
import io.vertigrad.compute.optimizer.DeviceUpdateRule;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares a GPU with the processor, with the profile {@code pytorch-cuda} on a machine with a GPU;
 * skipped on others. By default convolutions use TF32, which has 10 bits of a number's fraction.
 * The tolerances are two to seven times the largest differences that were measured on an H100.
 */
class GpuTest {

  private static final float RATE = 0.05f;
  private static final Device GPU = Device.of("cuda").orElseThrow();

  @TempDir Path folder;

  @BeforeAll
  static void requireGpu() {
    assumeTrue(LibTorch.cuda().present(), "libtorch is for the processor");
    LibTorch.cuda().check(GPU);
  }

  @AfterEach
  void allowTf32() {
    torch.globalContext().setAllowTF32CuDNN(true);
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp", "resnet20"})
  void shouldRoundProductsInBfloat16(String name) {
    List<Integer> shape = name.equals("resnet20") ? List.of(3, 16, 16) : List.of(1, 28, 28);
    ModelConfig config = new ModelConfig(name, Map.of(), shape, 10, 1, 1).on(GPU);
    Engine engine = Engine.named("pytorch");
    engine.prepare(1);
    torch.globalContext().setAllowTF32CuDNN(false);
    double tolerance = name.equals("resnet20") ? 2e-3 : 5e-6;
    Batch batch = Samples.batch(8, shape, 10, 5);
    try (Model exact = engine.model(config);
        Model rounded = engine.model(config.in(Precision.BFLOAT16))) {
      float[] gradient = Samples.gradient(exact, batch);
      double distance = Samples.distance(gradient, Samples.gradient(rounded, batch));

      assertTrue(distance > 1e-4 && distance < 5e-1, "distance " + distance);
      assertTrue(Samples.distance(gradient, Samples.gradient(exact, batch)) < tolerance);
    }
    assertEquals(List.of(), GpuModels.HERE.on(0));
  }

  @ParameterizedTest
  @CsvSource({
    "convnet, true, 2e-4",
    "convnet, false, 5e-6",
    "mlp, true, 2e-4",
    "mlp, false, 5e-6",
    "resnet20, true, 1e-1",
    "resnet20, false, 2e-3"
  })
  void shouldTrainAsOnTheProcessor(String name, boolean tf32, double tolerance) throws Exception {
    List<Integer> shape = name.equals("resnet20") ? List.of(3, 8, 8) : List.of(1, 28, 28);
    ModelConfig config = new ModelConfig(name, Map.of(), shape, 10, 1, 1);
    Engine engine = Engine.named("pytorch");
    engine.prepare(1);
    torch.globalContext().setAllowTF32CuDNN(tf32);
    Batch batch = Samples.batch(32, shape, 10, 5);
    try (Model there = engine.model(config.on(GPU));
        Model here = engine.model(config)) {
      for (int step = 0; step < 3; step++) {
        float[] parameters = Samples.parameters(here);
        there.writeParameters(0, FloatBuffer.wrap(parameters));
        float[] gradient = Samples.gradient(here, batch);

        assertEquals(0, Samples.distance(gradient, Samples.gradient(there, batch)), tolerance);
        assertEquals(here.score(batch).loss(), there.score(batch).loss(), tolerance);
        assertArrayEquals(parameters, Samples.parameters(there), 0);
        for (int i = 0; i < parameters.length; i++) {
          parameters[i] -= RATE * gradient[i];
        }
        here.writeParameters(0, FloatBuffer.wrap(parameters));
      }
      Path file = folder.resolve("there.pt");
      there.save(file);
      ModelConfig saved = new ModelConfig(file.toString(), Map.of(), shape, 10, 1, 1);
      try (Model again = engine.model(saved)) {
        assertArrayEquals(Samples.parameters(there), Samples.parameters(again), 0);
      }
    }
  }

  /** A replica whose parameters never leave the GPU trains as one on the processor. */
  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp"})
  void shouldStepOnTheGpuAsInJava(String name) {
    List<Integer> shape = List.of(1, 28, 28);
    ModelConfig config = new ModelConfig(name, Map.of(), shape, 10, 1, 1);
    Engine engine = Engine.named("pytorch");
    engine.prepare(1);
    torch.globalContext().setAllowTF32CuDNN(false);
    Batch batch = Samples.batch(32, shape, 10, 5);
    try (Model there = engine.model(config.on(GPU));
        Model here = engine.model(config)) {
      DeviceUpdateRule rule = there.deviceRule(OptimizerConfig.sgd(RATE)).orElseThrow();
      float[] parameters = Samples.parameters(here);
      there.writeParameters(0, FloatBuffer.wrap(parameters));
      for (int step = 0; step < 20; step++) {
        float[] gradient = Samples.gradient(here, batch);
        for (int i = 0; i < parameters.length; i++) {
          parameters[i] -= RATE * gradient[i];
        }
        here.writeParameters(0, FloatBuffer.wrap(parameters));
        there.gradient(batch);
        assertTrue(rule.step(RATE, step, 1e9f));
      }
      assertEquals(0, Samples.distance(parameters, Samples.parameters(there)), 1e-5);
    }
  }
}
