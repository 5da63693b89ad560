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
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares a GPU with the processor, with the profile {@code pytorch-cuda} on a machine with a GPU;
 * skipped on others. Convolutions may use TF32, which has 10 bits of a number's fraction.
 */
class GpuTest {

  private static final double TF32 = 2e-2;
  private static final Device GPU = Device.of("cuda").orElseThrow();

  @TempDir Path folder;

  @BeforeAll
  static void requireGpu() {
    assumeTrue(LibTorch.cuda().present(), "libtorch is for the processor");
    LibTorch.cuda().check(GPU);
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp", "resnet20"})
  void shouldRoundProductsInBfloat16(String name) {
    List<Integer> shape = name.equals("resnet20") ? List.of(3, 16, 16) : List.of(1, 28, 28);
    ModelConfig config = new ModelConfig(name, Map.of(), shape, 10, 1, 1).on(GPU);
    Engine engine = Engine.named("pytorch");
    Batch batch = Samples.batch(8, shape, 10, 5);
    try (Model exact = engine.model(config);
        Model rounded = engine.model(config.in(Precision.BFLOAT16))) {
      float[] gradient = Samples.gradient(exact, batch);
      double distance = Samples.distance(gradient, Samples.gradient(rounded, batch));

      assertTrue(distance > 1e-4 && distance < 5e-1, "distance " + distance);
      assertTrue(Samples.distance(gradient, Samples.gradient(exact, batch)) < TF32);
    }
    assertEquals(List.of(), GpuModels.HERE.on(0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp", "resnet20"})
  void shouldTrainAsOnTheProcessor(String name) throws Exception {
    List<Integer> shape = name.equals("resnet20") ? List.of(3, 8, 8) : List.of(1, 28, 28);
    ModelConfig config = new ModelConfig(name, Map.of(), shape, 10, 1, 1);
    Engine engine = Engine.named("pytorch");
    Batch batch = Samples.batch(32, shape, 10, 5);
    try (Model there = engine.model(config.on(GPU));
        Model here = engine.model(config)) {
      for (int step = 0; step < 3; step++) {
        float[] parameters = Samples.parameters(here);
        there.writeParameters(0, FloatBuffer.wrap(parameters));
        float[] gradient = Samples.gradient(here, batch);

        assertTrue(Samples.distance(gradient, Samples.gradient(there, batch)) < TF32);
        assertEquals(here.score(batch).loss(), there.score(batch).loss(), TF32);
        assertArrayEquals(parameters, Samples.parameters(there), 0);
        for (int i = 0; i < parameters.length; i++) {
          parameters[i] -= 0.05f * gradient[i];
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
}
